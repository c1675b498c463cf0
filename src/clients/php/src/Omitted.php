<?php

declare(strict_types=1);

namespace Orderpass;

/** A member of a request that is not sent, where null is sent as null. */
enum Omitted
{
    case Member;
}
