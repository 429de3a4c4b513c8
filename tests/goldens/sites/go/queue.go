// Package queue: receivers, generics, embedding, channels, labels.
package queue

import (
	"fmt"
	str "strings"
	_ "embed"
	. "errors"
)

type (
	Größe  int
	Number interface{ ~int | ~float64; fmt.Stringer; Base }
	Handler func(job *Job[string], rest ...int) (n int, err error)
	Alias  = map[string]*Job[Größe]
)

const ( First, Second = iota, "é"; Third Größe = 3 )

var queues, names = map[string]int{key: 1, "ü": First}, []string{Third: "x"}

type Job[T Number] struct {
	Base
	*fmt.Formatter
	List[T]
	Name, label string `json:"é"`
	run func(arg T) error
}

func (j *Job[T]) Run(ctx Context, items ...T) (n int, err error) {
	n, j.Name = len(items), "é"; j.stats.seen += 1; j.count++; *j.ptr = 2; j.list[n] = n
	for i, item := range items { _, err = j.run(item), i }
	for n = range items { continue }
outer:
	for { select {
		case v, ok := <-ctx.Done(): if !ok { break outer }; fmt.Println("ü", v)
		case err = <-j.errs: goto outer
		case j.out <- Convert[T](err):
	} }
	switch x := any(j).(type) { case *Job[T], fmt.Stringer: x.Run(ctx) ; case Größe: _ = Größe(x) }
	defer func(inner *Job[T]) { recover(); inner.Close() }(j)
	go Map[T, int](items, func(t T) int { return int(t) })
	other := &Job[T]{Name: "é", Base: Base{id: First}, run: nil}; other, n = nil, n
	return str.Count(j.Name, str.Repeat("é", n)), New("x")
}

func Map[T, U any](in []T, f func(T) U) (out []U) { type local struct{ at int }; var l local; l.at--; return }
