<?php

declare(strict_types=1);

namespace Orderpass\Http;

use Psr\Http\Client\NetworkExceptionInterface;
use Psr\Http\Message\RequestInterface;

/** Of the CurlClient: no answer came. */
final class NetworkException extends \RuntimeException implements NetworkExceptionInterface
{
    public function __construct(private readonly RequestInterface $request, string $reason)
    {
        parent::__construct($reason);
    }

    public function getRequest(): RequestInterface
    {
        return $this->request;
    }
}
