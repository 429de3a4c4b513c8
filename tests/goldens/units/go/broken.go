package broken

func before() int {
	return 1 +
}

type Half struct {
	a int
	b 
}

func (h *Half) fine() {}

func unclosed(a int {
	return
}

<<<<<<< HEAD
func ours() {}
=======
func theirs() {}
>>>>>>> branch

func after() {
	x := []int{1, 2
}

func last() {}
