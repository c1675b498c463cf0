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
     * @template Prepared
     * @template Result
     * @param bool $isSafe The request has no second effect when it is sent twice. Any other one is sent once
     * @param \Closure(Prepared): Result $attempt
     * @param float|null $endsAt No repeat begins after this time
     * @param bool $isWrite The request changes something: whether an attempt did so must not be reported wrongly
     * @param (\Closure(): Prepared)|null $prepare Runs before each attempt. It has repeats of its own, so its failure ends the call
     * @param (\Closure(ApiException, Prepared): bool)|null $renew True when what was prepared caused the refusal and another one
     *     may succeed: the next attempt follows at once
     * @return Result
     */
    public function run(
        bool $isSafe,
        \Closure $attempt,
        ?float $endsAt = null,
        bool $isWrite = false,
        ?\Closure $prepare = null,
        ?\Closure $renew = null,
    ): mixed {
        $lost = null;
        $running = 0.0;
        for ($number = $waits = 0; ; ) {
            try {
                $prepared = $prepare === null ? null : $prepare();
            } catch (OrderpassException $error) {
                throw $isWrite ? self::failureOf($lost, $error) : $error;
            }
            try {
                return $attempt($prepared);
            } catch (ApiException | TransportException $error) {
                if ($error instanceof ApiException && $renew !== null && $renew($error, $prepared)) {
                    continue;
                }
                $lost ??= self::isUnknown($error) ? $error : null;
                // Waiting for the end of the own request is no repeat that `retries` counts.
                $isOwnRunning = self::isRunning($error) && $this->retries > 0;
                $asked = $error instanceof ApiException ? $error->retryAfter ?? 0.0 : 0.0;
                $pause = $isOwnRunning ? $this->pause(self::growing($asked, $waits), $waits) : $this->pause($asked, $number);
                $running += $isOwnRunning ? $pause : 0.0;
                $isOver = $isOwnRunning ? $running > $this->retryAfterMax : $number >= $this->retries;
                if (
                    !$isSafe || $isOver || !self::isPassing($error) || $asked > $this->retryAfterMax
                    || ($endsAt !== null && microtime(true) + $pause >= $endsAt)
                ) {
                    throw $isWrite && self::isSilent($error) ? self::failureOf($lost, $error) : $error;
                }
                usleep((int) (1e6 * $pause));
                $isOwnRunning ? $waits++ : $number++;
            }
        }
    }

    /** A refusal would say that the write was not carried out, while the outcome of an earlier attempt is not known. */
    private static function failureOf(ApiException|TransportException|null $lost, OrderpassException $last): OrderpassException
    {
        return $lost === null || $lost === $last ? $last : $lost->withLast($last);
    }

    /**
     * The refusal says nothing about an earlier attempt: the service gives it before it looks for the idempotency key, or
     * something on the way gives it in place of the service.
     */
    private static function isSilent(ApiException|TransportException $error): bool
    {
        return $error instanceof ApiException
            && (self::isPassing($error) || \in_array($error->status, [401, 403], true) || $error->status >= 500);
    }

    /** The request with this idempotency key still runs. */
    private static function isRunning(ApiException|TransportException $error): bool
    {
        return $error instanceof ApiException && $error->status === 409 && $error->retryAfter !== null;
    }

    /** The service may have got the request, and may do it yet. */
    private static function isUnknown(ApiException|TransportException $error): bool
    {
        return $error instanceof TransportException || \in_array($error->status, [502, 504], true);
    }

    /** Each request costs units, so those that only wait for the first one come at growing distances. */
    private static function growing(float $asked, int $number): float
    {
        return max($asked, min(self::BACKOFF_MAX, $asked * 2 ** min($number, 10)));
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
