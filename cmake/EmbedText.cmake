# cmake -DOUT=file.inc "-DFILES=a.html;b.css" -P EmbedText.cmake: text files as the lines {"name", R"(…)"}, of C++.
cmake_minimum_required(VERSION 3.25)
set(text "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  file(READ ${file} content)
  string(APPEND text "{\"${name}\", R\"embed~(${content})embed~\"},\n")
endforeach()
file(WRITE ${OUT} "${text}")
