// Renders the templates of a Helm chart with Go's own template engine, which is Helm's, and those of Helm's functions that the
// charts use. Standard input: {"values": {...}, "chart": {...}}; standard output: an object of texts by template. Templates that
// need a function which is not here are refused.
//
//	render_chart CHART-FOLDER
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

// files are those of the chart's folder, as .Files.
type files string

func (f files) Get(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(string(f), name))
	return string(text), err
}

func functions(all *template.Template) template.FuncMap {
	return template.FuncMap{
		"toJson": func(value any) (string, error) {
			text, err := json.Marshal(value)
			return string(text), err
		},
		"default": func(usual, value any) any {
			if truth, _ := template.IsTrue(value); truth {
				return value
			}
			return usual
		},
		"sha256sum": func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) },
		"fail":      func(why string) (string, error) { return "", errors.New(why) },
		"include": func(name string, data any) (string, error) {
			var out bytes.Buffer
			err := all.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
	}
}

func render(folder string) (map[string]string, error) {
	var input struct {
		Values map[string]any `json:"values"`
		Chart  map[string]any `json:"chart"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil { // numbers are float64, as Helm's
		return nil, err
	}
	all := template.New("chart").Option("missingkey=error")
	all.Funcs(functions(all))
	paths, err := filepath.Glob(filepath.Join(folder, "templates", "*"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if _, err := all.New("chart/templates/" + filepath.Base(path)).Parse(string(text)); err != nil {
			return nil, err
		}
	}
	data := map[string]any{
		"Values":   input.Values,
		"Chart":    input.Chart,
		"Release":  map[string]any{"Name": "berth", "Namespace": "berth-system"},
		"Template": map[string]any{"BasePath": "chart/templates"},
		"Files":    files(folder),
	}
	out := map[string]string{}
	for _, path := range paths {
		var text bytes.Buffer
		if err := all.ExecuteTemplate(&text, "chart/templates/"+filepath.Base(path), data); err != nil {
			return nil, err
		}
		out[filepath.Base(path)] = text.String()
	}
	return out, nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: render_chart CHART-FOLDER <VALUES.json")
		os.Exit(2)
	}
	out, err := render(os.Args[1])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
