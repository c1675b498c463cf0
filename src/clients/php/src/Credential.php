<?php

declare(strict_types=1);

namespace Orderpass;

/** What a request presents. */
interface Credential
{
    /**
     * @param float|null $timeout Seconds of the wait for a token
     * @return array{string, string} Name and value of the header
     */
    public function header(?float $timeout = null): array;

    /** After a 401 to this value: true when the next header may be another one. */
    public function renew(string $refused): bool;
}
