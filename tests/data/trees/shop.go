package shop

import (
	"fmt"
	str "strings"
	. "math"
	_ "embed"
)

type Basket struct {
	Items []Item
	owner string
}

type Store[T any] interface {
	Get(key string) (T, error)
}

type (
	ID    int
	Point struct{ X, Y float64 }
)

// func inComment() {}
func (b *Basket) Total(tax float64, names ...string) (sum float64, err error) {
	for _, item := range b.Items {
		if item.Price > 0 {
			sum += Sqrt(item.Price)
		}
	}
	func() { fmt.Println("func inString() {}") }()
	return
}

func Map[T, U any](in []T, f func(T) U) []U {
	handler := func(x T) U { return f(x) }
	go str.ToUpper("x")
	return append([]U{}, handler(in[0]))
}
