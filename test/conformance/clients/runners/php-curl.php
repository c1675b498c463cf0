<?php
/** Notes the options of each request: the client calls this function in place of the one of curl. */

declare(strict_types=1);

namespace Orderpass\Http;

/** @param array<int, mixed> $options */
function curl_setopt_array(\CurlHandle $handle, array $options): bool
{
    $GLOBALS['timeouts'] = $options;
    return \curl_setopt_array($handle, $options);
}
