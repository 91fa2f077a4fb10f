package builtin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
)

const (
	// maxExpressionBytes and maxExpressionNodes bound an expression: there are no loops in
	// one, so its length bounds the time that it takes.
	maxExpressionBytes = 4_000
	maxExpressionNodes = 1_000
	// digits are those of a result: as many as a float64 is exact to, so that 0.1 + 0.2 is 0.3.
	digits = 15
)

type calculateArgs struct {
	Expression string `json:"expression" jsonschema:"An expression of numbers, + - * / % ** and parentheses, comparisons, and the functions abs, ceil, floor, round, sqrt, exp, ln, log10, min, max, sum, mean and median."`
}

// calculateTool does arithmetic.
func calculateTool() agent.Tool {
	return agent.Func(llm.Tool{
		Name: team.ToolCalculate,
		Description: "Calculates an arithmetic expression, such as (1249.50 * 12) * 1.19 or round(17 / 3, 2). " +
			"Use it for every figure that you work out. Numbers are exact to about 15 digits.",
	}, events.EffectPure, func(_ context.Context, _ agent.Invocation, args calculateArgs) (agent.Result, error) {
		text, err := calculate(args.Expression)
		return agent.Result{Text: text}, err
	})
}

// calculate gives the value of an expression.
func calculate(expression string) (string, error) {
	if len(expression) > maxExpressionBytes {
		return "", fmt.Errorf("the expression has %d characters, %d is the most: work it out in parts", len(expression), maxExpressionBytes)
	}
	program, err := expr.Compile(expression, rules()...)
	if err != nil {
		return "", inOneLine(err)
	}
	value, err := expr.Run(program, nil)
	if err != nil {
		return "", inOneLine(err)
	}
	return shown(value)
}

// rules are what an expression may hold: numbers, and functions on them.
func rules() []expr.Option {
	options := []expr.Option{expr.Env(struct{}{}), expr.DisableAllBuiltins(), expr.MaxNodes(maxExpressionNodes), expr.Patch(&numbersOnly{})}
	for _, name := range []string{"abs", "ceil", "floor", "min", "max", "sum", "mean", "median"} {
		options = append(options, expr.EnableBuiltin(name))
	}
	for name, function := range map[string]func(float64) float64{"sqrt": math.Sqrt, "exp": math.Exp, "ln": math.Log, "log10": math.Log10} {
		options = append(options, expr.Function(name, func(args ...any) (any, error) {
			return function(args[0].(float64)), nil
		}, new(func(float64) float64)))
	}
	options = append(options, expr.Function(remainder, func(args ...any) (any, error) {
		return math.Mod(args[0].(float64), args[1].(float64)), nil
	}, new(func(float64, float64) float64)))
	return append(options, expr.Function("round", round, new(func(float64) float64), new(func(float64, float64) float64)))
}

// remainder is the function behind %.
const remainder = "mod"

// maxDecimals bounds what a number is rounded to: it is not exact beyond.
const maxDecimals = digits

// round rounds half away from zero, as people do, to as many decimals as are wanted.
func round(args ...any) (any, error) {
	if len(args) == 1 {
		return math.Round(args[0].(float64)), nil
	}
	decimals := args[1].(float64)
	if decimals != math.Trunc(decimals) || math.Abs(decimals) > maxDecimals {
		return nil, fmt.Errorf("round takes up to %d whole decimals", maxDecimals)
	}
	scale := math.Pow(10, decimals)
	// What is 1.005 to a person is a little less in binary: the last digits are none.
	scaled, err := strconv.ParseFloat(strconv.FormatFloat(args[0].(float64)*scale, 'g', digits, 64), 64)
	return math.Round(scaled) / scale, err
}

// numbersOnly makes every number one with a fraction, since whole ones would wrap around
// without a word.
type numbersOnly struct{}

// Visit implements [ast.Visitor].
func (*numbersOnly) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IntegerNode:
		ast.Patch(node, &ast.FloatNode{Value: float64(n.Value)})
	case *ast.BinaryNode:
		if n.Operator == "%" { // which the library has for whole numbers alone
			ast.Patch(node, &ast.CallNode{Callee: &ast.IdentifierNode{Value: remainder}, Arguments: []ast.Node{n.Left, n.Right}})
		}
	}
}

// shown is a result as the model reads it.
func shown(value any) (string, error) {
	switch value := value.(type) {
	case bool:
		return strconv.FormatBool(value), nil
	case int:
		return strconv.Itoa(value), nil
	case float64:
		switch {
		case math.IsNaN(value):
			return "", errors.New("the result is no number, as that of 0 / 0 or of sqrt(-1)")
		case math.IsInf(value, 0):
			return "", errors.New("the result is too large, or something is divided by zero")
		case value == math.Trunc(value) && math.Abs(value) < 1e15:
			return strconv.FormatFloat(value, 'f', -1, 64), nil
		}
		return strconv.FormatFloat(value, 'g', digits, 64), nil
	}
	return "", errors.New("the expression is not one of numbers")
}

// inOneLine is what is wrong with an expression, without the picture of the place.
func inOneLine(err error) error {
	var wrong *file.Error
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s (at character %d)", wrong.Message, wrong.Column+1)
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(first)
}
