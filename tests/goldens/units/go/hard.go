//go:build linux && !cgo
// +build linux,!cgo

// Copyright header.

// Package hard is documented.
package hard

import "fmt"

import (
	"context"
	. "math"
	_ "embed"
	alias `raw/path`
	// a comment
	"example.org/a/b/v2"
)

import "C"

//go:embed x.txt
var embedded string

const (
	A = iota // a
	B
)

// Job runs.
//
// More about it.
type Job[K comparable, V any] struct {
	sync.Mutex
	*Base
	fn     func(int) error // not a unit
	nested struct {
		a int
	}
	Name string `json:"name"`
}

type Empty struct{}

type (
	// ID is an alias.
	ID = string

	// Number is a constraint.
	Number interface {
		~int | ~float64
	}
	Handler func(ctx context.Context) error

	Pair[T any] struct{ a, b T }
	Matrix [3][3]float64
)

// Runner can run.
type Runner interface {
	fmt.Stringer
	// Run does.
	Run(ctx context.Context) error
	Stop() // trailing
	private(a, b int) (x int, err error)
}

type Any interface{}
type Chan chan<- int
type Fn func(a int) func(b int)
type Alias = map[string]Job[int, string]
type GenericAlias[T any] = []T
type Self *Self

// New makes one.
func New[K comparable, V any](opts ...func(*Job[K, V])) *Job[K, V] { return nil }

func init() {}
func init() { fmt.Println("two") }

// Run is a method.
func (j *Job[K, V]) Run(ctx context.Context) (err error) {
	defer func() { recover() }()
	go func() {
		helper := func(a int) int { return a }
		_ = helper
	}()
	retry := func() error {
		type local struct{ x int }
		inner := func() {}
		inner()
		return nil
	}
	return retry()
}

func (j Job[K, _]) Value() {}
func (Job[K, V]) Unnamed() {}
func (*Empty) Star() {}
func (e (*Empty)) Parens() {}
func (_ Empty) Blank() {}
func (h Handler) Serve(w int, r *int) { h(nil) }

func multi(
	a int,
	b string,
) (
	int,
	error,
) {
	return 0, nil
}

//go:noescape
func external(p *byte) int

//export Exported
func Exported() {}

var handler = func(x int) {}

var (
	// first of a block
	first = func() {}
	second, third = func() {}, func() {}
	table = map[string]func(){
		"a": func() {},
	}
	value = (*Job[int, int]).Run
)

var typed func(int) = func(int) {}

var _ = func() int { return 1 }
var _ Runner = (*Job[int, int])(nil)

/* block comment */
func blockCommented() {}

/*
 * longer
 */

func apart() {}

/* inline */ func inline() {}

func oneLine() { x := func() {}; x() }

func 世界(日本 int) {}

func labels() {
outer:
	for i := range 10 {
		switch {
		case i > 2:
			f := func() {}
			f()
			break outer
		}
		select {
		default:
			g := func() { h := func() {}; h() }
			g()
		}
	}
}

func assigned() {
	var v func()
	v = func() {}
	v()
	var w = func() {}
	w()
	a, b := func() {}, 1
	_, _ = a, b
}

func variadic(xs ...int) (n int) { return len(xs) }

func constraint[S ~[]E, E interface{ ~int; String() string }](s S) {}

type Tree[T interface{ Less(T) bool }] struct {
	left, right *Tree[T]
}

func (t *Tree[T]) Walk(yield func(T) bool) bool { return true }
func (t *Tree[T]) All() func(func(T) bool) {
	return func(yield func(T) bool) { t.Walk(yield) }
}

// trailing comment at the end
