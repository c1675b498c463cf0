<?php

declare(strict_types=1);

namespace Orderpass;

use Psr\SimpleCache\CacheInterface;

/** Keeps tokens in any cache of PSR-16. */
final class Psr16TokenCache implements TokenCache
{
    public function __construct(private readonly CacheInterface $cache)
    {
    }

    public function get(string $key): ?string
    {
        $value = $this->cache->get($key);
        return \is_string($value) ? $value : null;
    }

    public function set(string $key, string $value, int $ttlSeconds): void
    {
        $this->cache->set($key, $value, $ttlSeconds);
    }
}
