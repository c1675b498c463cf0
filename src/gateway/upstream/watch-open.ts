/**
 * Ends what stays open when its caller would be refused now, or lost rights that the service was sent: WebSockets and event
 * streams last for hours, and would outlive the revocation of their credential.
 */
import type { EventEmitter } from 'node:events';
import type { RecheckCaller } from '../access/identify-caller.ts';
import type { Principal } from '../model/principal.ts';
import type { Exchange } from '../request/exchange.ts';

/** `closing`: emits `close` when it is over. `end`: ends it. */
export type WatchOpen = (exchange: Exchange, closing: EventEmitter, end: () => void) => void;

type Open = {
  readonly exchange: Exchange;
  readonly end: () => void;
  /** The caller at the last check. */
  principal: Principal;
};

/** Interval at which the credentials of everything that is open are checked. */
const recheckMs = 500;
/** Checks at the same time: after a change that all gateways forget everything for, each one reads the store. */
const checksMax = 64;

export const createWatchOpen = (recheckCaller: RecheckCaller): WatchOpen => {
  const all = new Set<Open>();
  let timer: NodeJS.Timeout | undefined;
  let isChecking = false;

  const endUnlessAllowed = async (open: Open): Promise<void> => {
    try {
      open.principal = await recheckCaller(open.exchange, open.principal);
    } catch {
      // Revoked, expired, with fewer rights, or impossible to check now: it must not outlive what was proven.
      open.end();
    }
  };

  const checkAll = async (): Promise<void> => {
    if (isChecking) return;
    isChecking = true;
    const rest = all.values();
    const checkRest = async (): Promise<void> => {
      for (const open of rest) await endUnlessAllowed(open);
    };
    await Promise.all(Array.from({ length: checksMax }, checkRest));
    isChecking = false;
  };

  return (exchange, closing, end) => {
    const { principal } = exchange;
    // On a route for everybody a caller without a credential has nothing that could end. A tool call ends with its message.
    if (principal === undefined || exchange.within !== undefined) return;
    const open = { exchange, end, principal };
    all.add(open);
    timer ??= setInterval(checkAll, recheckMs);
    closing.once('close', () => {
      all.delete(open);
      if (all.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    });
  };
};
