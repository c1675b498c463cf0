<?php

declare(strict_types=1);

namespace Orderpass;

use Orderpass\Type\ErrorDetail;

/**
 * The service refused the request, or failed. `getPrevious()` has the last error where this one is that of an earlier attempt
 * whose outcome is not known (502, 504).
 */
final class ApiException extends OrderpassException
{
    /** Code of the interface; a service behind the gateway may use codes of its own. */
    public readonly string $errorCode;

    /** Quote it when you ask for help. */
    public readonly ?string $requestId;

    /** @var list<string> Exactly the scopes that the credential lacks; empty unless `errorCode` is INSUFFICIENT_SCOPE */
    public readonly array $missingScopes;

    /** @var list<ErrorDetail> Every value that is not valid */
    public readonly array $errors;

    /** Seconds to wait before the request is sent again. */
    public readonly ?float $retryAfter;

    /** @param mixed $body As it came: decoded JSON, else text */
    public function __construct(
        public readonly int $status,
        ?string $retryAfter,
        ?string $requestId,
        public readonly mixed $body,
        ?OrderpassException $last = null,
    ) {
        $members = \is_array($body) ? $body : [];
        $this->errorCode = self::text($members, 'code') ?? self::text($members, 'error') ?? "HTTP_$status";
        $this->requestId = self::text($members, 'request_id') ?? $requestId;
        $this->missingScopes = array_values(array_filter(self::list($members, 'missing_scopes'), is_string(...)));
        $this->errors = array_map(
            static fn (array $one): ErrorDetail => new ErrorDetail(
                pointer: self::text($one, 'pointer') ?? '',
                code: self::text($one, 'code') ?? '',
                message: self::text($one, 'message') ?? '',
            ),
            array_values(array_filter(self::list($members, 'errors'), is_array(...))),
        );
        $given = $members['retry_after'] ?? null;
        $this->retryAfter = self::seconds($retryAfter) ?? (\is_int($given) ? (float) $given : null);
        $message = self::text($members, 'message') ?? self::text($members, 'error_description') ?? 'the answer says no reason';
        parent::__construct("{$this->errorCode} ($status): $message", 0, $last);
    }

    /** @internal */
    public function withLast(OrderpassException $last): self
    {
        $retryAfter = $this->retryAfter === null ? null : (string) (int) ceil($this->retryAfter);
        return new self($this->status, $retryAfter, $this->requestId, $this->body, $last);
    }

    /** @param array<array-key, mixed> $members */
    private static function text(array $members, string $name): ?string
    {
        $value = $members[$name] ?? null;
        return \is_string($value) && $value !== '' ? $value : null;
    }

    /**
     * @param array<array-key, mixed> $members
     * @return array<array-key, mixed>
     */
    private static function list(array $members, string $name): array
    {
        return \is_array($members[$name] ?? null) ? $members[$name] : [];
    }

    /** Seconds, or an HTTP date (RFC 9110 section 10.2.3). */
    private static function seconds(?string $value): ?float
    {
        if ($value === null || preg_match('/^\d{1,9}$/D', $value) === 1) {
            return $value === null ? null : (float) $value;
        }
        $at = \DateTimeImmutable::createFromFormat('D, d M Y H:i:s \G\M\T', $value, new \DateTimeZone('UTC'));
        return $at === false ? null : max(0.0, $at->getTimestamp() - microtime(true));
    }
}
