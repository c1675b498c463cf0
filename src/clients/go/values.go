package orderpass

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Decimal is a number as the service writes it, such as 26.62: no digit passes through floating point.
type Decimal string

var decimalForm = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// ParseDecimal takes digits with at most one point.
func ParseDecimal(text string) (Decimal, error) {
	if !decimalForm.MatchString(text) {
		return "", fmt.Errorf("orderpass: %q is not a decimal number", text)
	}
	return Decimal(text), nil
}

// Hundredths makes 26.62 of 2662.
func Hundredths(count int64) Decimal {
	sign, digits := "", strconv.FormatInt(count, 10)
	if count < 0 {
		sign, digits = "-", digits[1:]
	}
	digits = strings.Repeat("0", max(0, 3-len(digits))) + digits
	return Decimal(sign + digits[:len(digits)-2] + "." + digits[len(digits)-2:])
}

// Hundredths is 2662 for 26.62: amounts and points have at most two decimals. A number with more is an error.
func (d Decimal) Hundredths() (int64, error) {
	whole, part, _ := strings.Cut(d.String(), ".")
	for len(part) > 2 && part[len(part)-1] == '0' {
		part = part[:len(part)-1]
	}
	if len(part) > 2 || !decimalForm.MatchString(d.String()) {
		return 0, fmt.Errorf("orderpass: %q has no whole hundredths", d)
	}
	return strconv.ParseInt(whole+part+strings.Repeat("0", 2-len(part)), 10, 64)
}

// String is 0 for the zero value.
func (d Decimal) String() string {
	if d == "" {
		return "0"
	}
	return string(d)
}

// MarshalJSON writes a JSON number.
func (d Decimal) MarshalJSON() ([]byte, error) {
	_, err := ParseDecimal(d.String())
	return []byte(d.String()), err
}

// UnmarshalJSON keeps the digits of a JSON number.
func (d *Decimal) UnmarshalJSON(text []byte) (err error) {
	*d, err = ParseDecimal(string(text))
	return err
}

// Nullable is a member of a request that may be left out, null, or a value. Its zero value is left out.
type Nullable[T any] struct {
	value   T
	isGiven bool
	isNull  bool
}

// Value is sent as it is.
func Value[T any](value T) Nullable[T] { return Nullable[T]{value: value, isGiven: true} }

// Null is sent as null, which clears a member.
func Null[T any]() Nullable[T] { return Nullable[T]{isGiven: true, isNull: true} }

// Ptr points to a value, for members of requests that may be left out.
func Ptr[T any](value T) *T { return &value }

// IsZero says that the member is left out.
func (n Nullable[T]) IsZero() bool { return !n.isGiven }

// MarshalJSON writes null or the value.
func (n Nullable[T]) MarshalJSON() ([]byte, error) {
	if n.isNull || !n.isGiven {
		return []byte("null"), nil
	}
	return json.Marshal(n.value)
}

// UnmarshalJSON reads null or a value.
func (n *Nullable[T]) UnmarshalJSON(text []byte) error {
	*n = Nullable[T]{isGiven: true, isNull: string(text) == "null"}
	return json.Unmarshal(text, &n.value)
}
