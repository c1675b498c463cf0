<?php

declare(strict_types=1);

namespace Orderpass;

/** Keeps access tokens between PHP processes. What it holds is as secret as a password for as long as it lives. */
interface TokenCache
{
    public function get(string $key): ?string;

    public function set(string $key, string $value, int $ttlSeconds): void;
}
