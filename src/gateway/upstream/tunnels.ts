/**
 * The upgraded connections of a process, over all route tables that are in use. They last for hours, so the bound on them is shared: a
 * caller may hold all of them while no other wants one. When all are taken, a caller gets the slot of the newest one of the caller with
 * most of them, where it holds fewer by two or more.
 */
import type { EventEmitter } from 'node:events';
import type { Exchange } from '../request/exchange.ts';

export type Tunnels = {
  /** Counts a connection until `closing` emits `close`. `end`: ends it for another caller. False: there is no room for it. */
  enter(exchange: Exchange, closing: EventEmitter, end: () => void): boolean;
};

type Tunnel = { end: () => void };

export const createTunnels = (max: number): Tunnels => {
  const held = new Map<string, Set<Tunnel>>();
  let open = 0;

  const leave = (caller: string, tunnel: Tunnel): void => {
    const own = held.get(caller);
    if (own?.delete(tunnel) !== true) return;
    open -= 1;
    if (own.size === 0) held.delete(caller);
  };

  const makeRoom = (caller: string): boolean => {
    if (open < max) return true;
    let most: [string, Set<Tunnel>] | undefined;
    for (const entry of held) if (most === undefined || entry[1].size > most[1].size) most = entry;
    if (most === undefined || most[1].size <= (held.get(caller)?.size ?? 0) + 1) return false;
    const [other, tunnels] = most;
    const newest = [...tunnels].at(-1);
    if (newest === undefined) return false;
    // At once, since its connection closes later and another caller could take the slot meanwhile.
    leave(other, newest);
    newest.end();
    return true;
  };

  return {
    enter: ({ caller }, closing, end) => {
      if (!makeRoom(caller)) return false;
      const tunnel = { end };
      held.set(caller, (held.get(caller) ?? new Set()).add(tunnel));
      open += 1;
      closing.once('close', () => leave(caller, tunnel));
      return true;
    },
  };
};
