package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
)

// event is one entry of the legend.
type event struct {
	Name   string
	Inputs map[string]bool
}

// line is the header, a state, or a pair: what is missing stays empty.
type line struct {
	Format         string
	Version        int
	Subject        string
	Rebalance      string
	Configurations []map[string]bool
	Legend         struct {
		Events []event
		Sent   [][]string
		Stays  [][]int
		Never  [][][2]any
		States map[string][]string
	}
	State, Config, Stays, Never int
	From                        []int
	Is                          []int
	Does, Run, Back             [][3]int
	Pair                        []string
	Start                       int
}

// read has the three parts of a vector file; its first line says of which version it is.
func read(path string) (header line, states, pairs []line) {
	file, err := os.Open(path)
	check(err)
	unzipped, err := gzip.NewReader(file)
	check(err)
	decoder := json.NewDecoder(bufio.NewReader(unzipped))
	err = decoder.Decode(&header)
	if header.Format != "groupspec-vectors" || header.Version != 1 || header.Subject != "member" {
		check(fmt.Errorf("%s: not a vector file of version 1 about a member", path))
	}
	check(err)
	for decoder.More() {
		var next line
		check(decoder.Decode(&next))
		if next.Pair != nil {
			pairs = append(pairs, next)
		} else {
			states = append(states, next)
		}
	}
	return header, states, pairs
}
