/** Opens a connection to an upstream for a request that keeps it (WebSocket): tries each address until one accepts. */
import type { Socket } from 'node:net';
import { upstreamOut, upstreamUnreachable } from '../../model/faults.ts';
import type { Address } from './address.ts';
import { attemptsMax, chooseAddress } from './choose-address.ts';
import { everyAddressFails, noteFailure, type Upstream } from './upstreams.ts';

export type Connection = { socket: Socket; address: Address };

/**
 * Rejects when none accepts the connection: OVERLOADED when all had failed before, else UPSTREAM_UNREACHABLE. `isGone`: the
 * client has left, so that no further address is tried.
 */
export const connectToUpstream = async (upstream: Upstream, isGone: () => boolean): Promise<Connection> => {
  const tried: Address[] = [];
  let cause: unknown;
  for (;;) {
    const mayTry = tried.length < attemptsMax && !isGone();
    const address = mayTry ? chooseAddress(upstream.addresses, tried) : undefined;
    if (address === undefined)
      throw everyAddressFails(upstream) ? upstreamOut(upstream.name) : upstreamUnreachable(cause);
    try {
      return { socket: await address.open(), address };
    } catch (error) {
      cause = error;
      tried.push(address);
      noteFailure(upstream, address, false);
    }
  }
};
