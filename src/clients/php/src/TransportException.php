<?php

declare(strict_types=1);

namespace Orderpass;

/**
 * No answer came: the connection failed or the time was over. `getPrevious()` has the reason, or the last error where this one is
 * that of an earlier attempt whose outcome is not known.
 */
final class TransportException extends OrderpassException
{
    /** @internal The reason goes into the text, since the last error takes its place. */
    public function withLast(OrderpassException $last): self
    {
        $reason = $this->getPrevious()?->getMessage();
        return new self($this->getMessage() . ($reason === null ? '' : " ($reason)"), 0, $last);
    }
}
