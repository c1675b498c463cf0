<?php

declare(strict_types=1);

namespace Orderpass;

/** Which failures are repeated, and when. */
final class Repeats
{
    private const BACKOFF_MAX = 8.0;

    public function __construct(
        private readonly int $retries,
        private readonly float $backoff,
        private readonly float $retryAfterMax,
    ) {
    }

    /**
     * @template Result
     * @param bool $isSafe The request has no second effect when it is sent twice. Any other one is sent once
     * @param \Closure(): Result $attempt
     * @param float|null $endsAt No repeat begins after this time
     * @return Result
     */
    public function run(bool $isSafe, \Closure $attempt, ?float $endsAt = null): mixed
    {
        for ($number = 0; ; $number++) {
            try {
                return $attempt();
            } catch (ApiException | TransportException $error) {
                $asked = $error instanceof ApiException ? $error->retryAfter ?? 0.0 : 0.0;
                if (!$isSafe || $number >= $this->retries || !self::isPassing($error) || $asked > $this->retryAfterMax) {
                    throw $error;
                }
                $pause = $this->pause($asked, $number);
                if ($endsAt !== null && microtime(true) + $pause >= $endsAt) {
                    throw $error;
                }
                usleep((int) (1e6 * $pause));
            }
        }
    }

    /** The service, or something on the way to it, could not answer now. 409 counts only with Retry-After: the same request still runs. */
    private static function isPassing(ApiException|TransportException $error): bool
    {
        if ($error instanceof TransportException) {
            return true;
        }
        if ($error->status === 409) {
            return $error->retryAfter !== null;
        }
        // The operator may enable the old statuses, with which 429 and 500 are 200.
        if ($error->status === 200) {
            return \in_array($error->errorCode, ['RATE_LIMIT_EXCEEDED', 'INTERNAL_ERROR'], true);
        }
        return \in_array($error->status, [408, 429, 500, 502, 503, 504], true);
    }

    private function pause(float $asked, int $number): float
    {
        $own = min(self::BACKOFF_MAX, max(0.0, $this->backoff) * 2 ** min($number, 10)) * (0.5 + random_int(0, 1000) / 2000);
        // Callers that were refused together come again at different times.
        return $asked === 0.0 ? $own : $asked + $own / 4;
    }
}
