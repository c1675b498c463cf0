<?php

declare(strict_types=1);

namespace Orderpass;

/** No answer came: the connection failed or the time was over. `getPrevious()` has the reason. */
final class TransportException extends OrderpassException
{
}
