/** The services behind the gateway: their addresses with their state, and the bounds of each. */
import type { Logger } from '#src/platform/log.ts';
import { createWaiters, type Waiters } from '#src/platform/sharing/waiters.ts';
import { type Address, createAddress } from './address.ts';
import { type AddressState, isFailing, isOut, noteAnswer, noteFailedRequest, stateOf } from './address-health.ts';
import { createPublicLocation, type ToPublicLocation } from './public-location.ts';
import type { UpstreamOptions } from './resolve-upstreams.ts';
import { createRetryBudget, type RetryBudget } from './retry-budget.ts';
import { type AddressWatch, watchAddress } from './watch-address.ts';

export type Upstream = {
  readonly name: string;
  readonly addresses: readonly Address[];
  /** Requests that have a connection, wait for one, or are read so that they can be repeated. */
  inFlight: number;
  readonly inFlightMax: number;
  /** Requests whose bodies are read so that they can be repeated, each with what refuses it. They count as in flight. */
  readonly reading: Waiters<() => void>;
  readonly failuresMax: number;
  /** The service gets the Host field of the caller. */
  readonly preserveHost: boolean;
  /** Errors that refuse no caller are passed on as the service wrote them. */
  readonly passesErrors: boolean;
  readonly budget: RetryBudget;
  readonly toPublicLocation: ToPublicLocation;
  readonly watches: ReadonlyMap<Address, AddressWatch>;
  /** Logs a changed state. */
  readonly changed: (address: Address) => void;
};

/** `origin`: the public address. */
export const createUpstream = (options: UpstreamOptions, origin: string, log: Logger): Upstream => {
  const { name, connectionsMax, failuresMax, pauseMsMax, check, tls, connectMs } = options;
  const addresses = options.addresses.map((one) =>
    createAddress(one.origin, one.weight, { connectMs, connectionsMax, tls }),
  );
  const internal = addresses.map((address) => address.origin);
  const states = new Map<Address, AddressState>(addresses.map((address) => [address, 'in_use']));
  const changed = (address: Address): void => {
    const state = stateOf(address.health, failuresMax);
    if (states.get(address) === state) return;
    states.set(address, state);
    log.warn({ upstream: name, address: address.origin, state }, 'the state of an address of an upstream changed');
  };
  return {
    name,
    addresses,
    inFlight: 0,
    inFlightMax: connectionsMax * addresses.length + options.waitingMax,
    reading: createWaiters(),
    failuresMax,
    preserveHost: options.preserveHost,
    passesErrors: options.passesErrors,
    budget: createRetryBudget(options.retries, performance.now()),
    toPublicLocation: createPublicLocation(internal, origin, options.preserveHost),
    watches: new Map(
      addresses.map((address) => [address, watchAddress({ address, check, failuresMax, pauseMsMax, changed })]),
    ),
    changed,
  };
};

/**
 * Room for one more request of the caller. Where there is none, a request of the caller with clearly more of them is refused, as
 * long as it waits for a connection or its body is still read.
 */
export const makeRoom = ({ addresses, inFlight, inFlightMax, reading }: Upstream, caller: string): boolean => {
  if (inFlight < inFlightMax || addresses.some(({ connections }) => connections.makeRoom(caller))) return true;
  const yielding = reading.yielding(caller);
  if (yielding === undefined) return false;
  reading.remove(yielding);
  yielding.value();
  return true;
};

/** An answer of any status came. */
export const noteAnswered = ({ failuresMax, changed }: Upstream, address: Address): void => {
  const failed = isFailing(address.health, failuresMax);
  noteAnswer(address.health);
  if (failed) changed(address);
};

/** No answer came. At most half of the addresses are paused: the others would get more than they can carry. */
export const noteFailure = (upstream: Upstream, address: Address, wasSent: boolean): void => {
  const { addresses, failuresMax, watches, changed } = upstream;
  const paused = addresses.filter(({ health }) => health.paused).length;
  const mayPause = 2 * (paused + 1) <= addresses.length;
  noteFailedRequest(address.health, { wasSent, mayPause, failuresMax });
  if (!isFailing(address.health, failuresMax)) return;
  changed(address);
  watches.get(address)?.probe();
};

/** No address is known to work. */
export const everyAddressFails = ({ addresses, failuresMax }: Upstream): boolean =>
  addresses.every(({ health }) => isOut(health) || isFailing(health, failuresMax));

/** Ends the watching of addresses and all requests to them. */
export const closeUpstream = async ({ addresses, watches }: Upstream): Promise<void> => {
  for (const watch of watches.values()) watch.close();
  await Promise.all(addresses.map(({ connections }) => connections.destroy()));
};
