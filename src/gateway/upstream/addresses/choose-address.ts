/** Pure: the choice of the address for the next attempt. It runs for each request and allocates nothing. */
import { type Health, isOut } from './address-health.ts';

/** Addresses that one request tries: an upstream with a hundred that are all silent must not keep it for minutes. */
export const attemptsMax = 10;

export type Choosable = {
  readonly weight: number;
  readonly health: Health;
  /** Requests and upgraded connections at this address now. */
  inFlight: number;
  /** Of the weighted rotation among equally busy addresses. */
  credit: number;
};

/**
 * The least busy address in use, by its weight; equally busy ones take turns by weight. When every address that is left is
 * out, the least busy of these: a request that may fail is better than one that is refused. Undefined when all were tried.
 */
export const chooseAddress = <A extends Choosable>(
  addresses: readonly A[],
  tried: readonly A[] | undefined,
): A | undefined => {
  if (addresses.length === 1) return tried === undefined || tried.length === 0 ? addresses[0] : undefined;
  return leastBusy(addresses, tried, false) ?? leastBusy(addresses, tried, true);
};

const leastBusy = <A extends Choosable>(
  addresses: readonly A[],
  tried: readonly A[] | undefined,
  out: boolean,
): A | undefined => {
  let least = Number.POSITIVE_INFINITY;
  for (const address of addresses) {
    if (isOut(address.health) !== out || tried?.includes(address) === true) continue;
    const load = address.inFlight / address.weight;
    if (load < least) least = load;
  }
  return least === Number.POSITIVE_INFINITY ? undefined : nextOf(addresses, tried, out, least);
};

/** Smooth weighted round robin: each gains its weight, the richest is chosen and pays what all have gained. */
const nextOf = <A extends Choosable>(
  addresses: readonly A[],
  tried: readonly A[] | undefined,
  out: boolean,
  load: number,
): A | undefined => {
  let gained = 0;
  let richest: A | undefined;
  for (const address of addresses) {
    if (isOut(address.health) !== out || tried?.includes(address) === true) continue;
    if (address.inFlight / address.weight !== load) continue;
    gained += address.weight;
    address.credit += address.weight;
    if (richest === undefined || address.credit > richest.credit) richest = address;
  }
  if (richest !== undefined) richest.credit -= gained;
  return richest;
};
