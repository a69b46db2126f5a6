"""The part of Go's templates, and of Helm's functions, that the charts of packaging/kubernetes are written with. What is not of that
part is refused. tests/go/src/berth/render_chart does the same with Go's own engine; tools/check_chart holds one to the other."""
import hashlib
import json
import re

TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[()|]|[^\s()|]+)')


class Refused(Exception):
    pass


def go_json(value):
    """As Go writes it."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def shown(value):
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else "<no value>" if value is None else str(value)


class Chart:
    """`known`: what "." is at the top: Values, Chart, Release."""

    def __init__(self, folder, known):
        self.folder = folder
        self.known = {**known, "Template": {"BasePath": "chart/templates"}}
        self.texts = {path.name: path.read_text() for path in sorted((folder / "templates").iterdir())}

    def render(self, name):
        return self.run(self.parts(name), self.known, {})

    def parts(self, name):
        """A tree of texts, ("do", words), ("if", words, parts) and ("range", names, words, parts)."""
        text = re.sub(r"\s*\{\{-", "{{", self.texts[name])
        text = re.sub(r"-\}\}\s*", "}}", text)
        pieces = re.split(r"\{\{\s*(.*?)\s*\}\}", text)
        stack = [[]]
        for number, piece in enumerate(pieces):
            if number % 2 == 0:
                stack[-1].append(piece)
            elif piece == "end":
                stack.pop()
            elif piece.startswith("if "):
                stack[-1].append(("if", TOKEN.findall(piece[3:]), []))
                stack.append(stack[-1][-1][-1])
            elif found := re.fullmatch(r"range (?:(\$\w+), (\$\w+) := )?(.*)", piece):
                stack[-1].append(("range", found.groups()[:2], TOKEN.findall(found.group(3)), []))
                stack.append(stack[-1][-1][-1])
            else:
                stack[-1].append(("do", TOKEN.findall(piece)))
        if len(stack) != 1:
            raise Refused(f"{name}: there is an end too few")
        return stack[0]

    def run(self, parts, dot, variables):
        out = ""
        for part in parts:
            if isinstance(part, str):
                out += part
            elif part[0] == "do":
                out += shown(self.value(list(part[1]), dot, variables))
            elif part[0] == "if":
                out += self.run(part[2], dot, variables) if self.value(list(part[1]), dot, variables) else ""
            else:
                _, names, words, body = part
                over = self.value(list(words), dot, variables)
                for key, each in sorted(over.items()) if isinstance(over, dict) else enumerate(over):
                    out += self.run(body, each, {**variables, names[0]: key, names[1]: each})
        return out

    def value(self, words, dot, variables):
        """Of a pipeline, up to its end or the parenthesis that closes it; takes these words away."""
        commands = [[]]
        while words:
            word = words.pop(0)
            if word == ")":
                break
            if word == "|":
                commands.append([])
            elif word == "(":
                commands[-1].append(self.value(words, dot, variables))
            elif not commands[-1] and not word.startswith((".", "$", '"')) or word == ".Files.Get":
                commands[-1].append(self.function(word, dot))
            else:
                commands[-1].append(self.named(word, dot, variables))
        value = None
        for number, command in enumerate(commands):
            arguments = command + [value] if number else command
            value = arguments[0](*arguments[1:]) if callable(arguments[0]) else arguments[0]
        return value

    def named(self, word, dot, variables):
        if word.startswith('"'):
            return json.loads(word)
        value, rest = (self.known, word[1:]) if word.startswith("$.") else (dot, word)
        if rest == ".":
            return value
        if rest.startswith("$"):
            return variables[rest]
        for name in rest.strip(".").split("."):
            if name not in value:
                raise Refused(f"there is no {word}")
            value = value[name]
        return value

    def function(self, name, dot):
        def fail(why):
            raise Refused(why)

        def include(template, _):
            return self.render(template.removeprefix("chart/templates/"))

        functions = {
            "toJson": go_json, "print": lambda *texts: "".join(texts), "include": include, "fail": fail,
            "default": lambda usual, value: value or usual, "or": lambda one, other: one or other, "not": lambda value: not value,
            "sha256sum": lambda text: hashlib.sha256(text.encode()).hexdigest(),
            ".Files.Get": lambda file: (self.folder / file).read_text(),
        }
        if name not in functions:
            raise Refused(f"the function {name} is not known here")
        return functions[name]
