package crlf

// of F
// too
func F(
	a int,
) {
	g := func() {}
	g()
}

// T is.
type T struct {
	a int
}

// apart

func (t T) M() {}
