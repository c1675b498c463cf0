<?php

declare(strict_types=1);

namespace Orderpass;

/** What a request presents. */
interface Credential
{
    /** @return array{string, string} Name and value of the header */
    public function header(): array;

    /** After a 401 to this value: true when the next header may be another one. */
    public function renew(string $refused): bool;
}
