<?php

declare(strict_types=1);

namespace Orderpass;

/** Writes and reads the members of objects. */
final class Json
{
    /** @param array<string, mixed> $members */
    public static function object(array $members): object
    {
        return (object) array_filter($members, static fn (mixed $value): bool => $value !== Omitted::Member);
    }

    public static function encode(object $value): string
    {
        // Another value of this setting, which old installations have, would write 8.1 as 8.0999999999999996.
        $before = ini_set('serialize_precision', '-1');
        try {
            return json_encode($value, \JSON_THROW_ON_ERROR | \JSON_UNESCAPED_UNICODE | \JSON_UNESCAPED_SLASHES);
        } catch (\JsonException $error) {
            throw new OrderpassException('the request cannot be written as JSON', 0, $error);
        } finally {
            if ($before !== false) {
                ini_set('serialize_precision', $before);
            }
        }
    }

    public static function string(mixed $value, string $place): string
    {
        return \is_string($value) ? $value : throw self::unexpected($place, 'a string');
    }

    public static function integer(mixed $value, string $place): int
    {
        return \is_int($value) ? $value : throw self::unexpected($place, 'an integer');
    }

    public static function boolean(mixed $value, string $place): bool
    {
        return \is_bool($value) ? $value : throw self::unexpected($place, 'a boolean');
    }

    public static function decimal(mixed $value, string $place): Decimal
    {
        return \is_int($value) || \is_float($value) ? Decimal::of($value) : throw self::unexpected($place, 'a number');
    }

    /** @return array<array-key, mixed> */
    public static function members(mixed $value, string $place): array
    {
        return \is_array($value) ? $value : throw self::unexpected($place, 'an object');
    }

    /** @return list<mixed> */
    public static function list(mixed $value, string $place): array
    {
        return \is_array($value) ? array_values($value) : throw self::unexpected($place, 'a list');
    }

    private static function unexpected(string $place, string $kind): OrderpassException
    {
        return new OrderpassException("$place is not $kind");
    }
}
