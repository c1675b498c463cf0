<?php

declare(strict_types=1);

namespace Orderpass;

/**
 * A number as the service writes it, such as 26.62, with at most 15 digits, of which 6 may stand after the point. Numbers of this
 * size pass through JSON and floats without a change of a digit; calculate with `toHundredths`.
 */
final class Decimal implements \JsonSerializable, \Stringable
{
    private function __construct(private readonly string $digits)
    {
    }

    public static function of(string|int|float $value): self
    {
        $text = \is_float($value) ? self::digitsOf($value) : (string) $value;
        if (preg_match('/^(-?)0*(\d+)(?:\.(\d{0,6}?)0*)?$/D', $text, $found) !== 1 || \strlen($found[2] . ($found[3] ?? '')) > 15) {
            throw new OrderpassException('not a decimal number of at most 15 digits');
        }
        $part = $found[3] ?? '';
        return new self($found[1] . $found[2] . ($part === '' ? '' : ".$part"));
    }

    /** A float holds 15 digits, so a large one has fewer than six decimals. */
    private static function digitsOf(float $value): string
    {
        $whole = \strlen(number_format(abs($value), 0, '.', ''));
        return number_format($value, max(0, min(6, 15 - $whole)), '.', '');
    }

    /** 26.62 of 2662. */
    public static function ofHundredths(int $count): self
    {
        return self::of(sprintf('%s%d.%02d', $count < 0 ? '-' : '', intdiv(abs($count), 100), abs($count) % 100));
    }

    /** 2662 of 26.62: amounts and points have at most two decimals. */
    public function toHundredths(): int
    {
        [$whole, $part] = explode('.', $this->digits) + [1 => ''];
        if (\strlen($part) > 2) {
            throw new OrderpassException("$this->digits has no whole hundredths");
        }
        return (int) ($whole . str_pad($part, 2, '0'));
    }

    public function __toString(): string
    {
        return $this->digits;
    }

    public function jsonSerialize(): int|float
    {
        return str_contains($this->digits, '.') ? (float) $this->digits : (int) $this->digits;
    }
}
