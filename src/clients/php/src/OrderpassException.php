<?php

declare(strict_types=1);

namespace Orderpass;

/** Every exception that this package throws itself. */
class OrderpassException extends \RuntimeException
{
}
