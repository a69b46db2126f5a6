# libberth: the rooms usable without the daemon, as static libraries with a CMake package and a pkg-config file.
