/**
 * Interface 25.2: a sandbox credential asks for a fault, and gets the answer that the real one would give, in its own dialect. The
 * request has passed every check before and was charged its units; it does not reach the service behind.
 */
import type { ServerResponse } from 'node:http';
import { type Fault, internalFault, validationFault } from '#src/contract/fault.ts';
import { simulateHeader } from '#src/contract/headers.ts';
import { isSandboxId } from '#src/contract/sandbox.ts';
import { notValid } from '../access/bearer-tokens.ts';
import { keyRefused } from '../access/check-key.ts';
import { unknownClient } from '../access/credential-refusals.ts';
import { addLimit, addPolicies, createStanding, type RateStanding } from '../limits/rate-standing.ts';
import { overloaded, rateLimited, storeUnavailable, upstreamTimeout, upstreamUnreachable } from '../model/faults.ts';
import type { CredentialKind, Principal } from '../model/principal.ts';
import { SimulatedFault } from '../model/traced-fault.ts';
import type { Exchange, Step } from '../request/exchange.ts';

const pointer = 'X-Orderpass-Simulate';

/** Chosen: longer than a client waits that gives up early, shorter than its own bound usually is. */
const timeoutMs = 5_000;
const slowMs = 3_000;
/** Requests that wait at once; each holds a connection and a body that was not read. Beyond, a wait ends at once. */
const waitingMax = 1_000;

const refusals: Readonly<Record<CredentialKind, () => Fault>> = {
  api_key: keyRefused,
  api_client: unknownClient,
  bearer: () => notValid(),
};

/** The faults that are answered at once. */
const faults = {
  overloaded: () => overloaded('simulated'),
  maintenance: () => storeUnavailable(undefined),
  unreachable: () => upstreamUnreachable(undefined),
  internal_error: () => internalFault(undefined),
  unauthorized: ({ kind }) => refusals[kind](),
} satisfies Record<string, (caller: Principal) => Fault>;

const names = ['rate_limited', ...Object.keys(faults), 'timeout', 'slow'];

const isFault = (name: string): name is keyof typeof faults => Object.hasOwn(faults, name);

/** Without the header it does nothing. */
export const createSimulateFault = (): Step => {
  let waiting = 0;
  const wait = async (res: ServerResponse, ms: number): Promise<void> => {
    if (waiting >= waitingMax) return;
    waiting += 1;
    await waitWhileOpen(res, ms);
    waiting -= 1;
  };
  return (exchange) => {
    const asked = exchange.req.headers[simulateHeader];
    if (asked === undefined) return;
    const { principal } = exchange;
    if (principal === undefined || !isSandboxId(principal.id)) throw sandboxOnly();
    const name = String(asked);
    if (name === 'slow') return wait(exchange.res, slowMs);
    if (!names.includes(name)) throw unknownFault();
    exchange.place = 'simulated';
    if (name === 'rate_limited') throw new SimulatedFault(name, usedUp(exchange));
    if (isFault(name)) throw new SimulatedFault(name, faults[name](principal));
    return wait(exchange.res, timeoutMs).then(() => {
      throw new SimulatedFault(name, upstreamTimeout(undefined));
    });
  };
};

const waitWhileOpen = (res: ServerResponse, ms: number): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      res.off('close', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    res.on('close', end);
    if (res.destroyed) end();
  });

/** As if the limit whose window ends first had no unit left; nothing is taken from it. */
const usedUp = (exchange: Exchange): Fault => {
  const { rate } = exchange;
  const seconds = Math.max(1, Math.min(...(rate?.limits ?? []).map(({ resetSeconds }) => resetSeconds), 60));
  if (rate !== undefined) exchange.rate = withoutUnits(rate, seconds);
  return rateLimited(seconds, 'units');
};

const withoutUnits = (rate: RateStanding, seconds: number): RateStanding => {
  const standing = createStanding(seconds);
  addPolicies(standing, rate.policyText);
  for (const { policy, remaining, resetSeconds } of rate.limits)
    addLimit(standing, policy, resetSeconds <= seconds ? 0 : remaining, resetSeconds);
  return standing;
};

const sandboxOnly = (): Fault =>
  validationFault([
    {
      pointer,
      code: 'SANDBOX_ONLY',
      message: 'is for credentials of a sandbox; leave the header out, or use a sandbox credential',
    },
  ]);

const unknownFault = (): Fault =>
  validationFault([{ pointer, code: 'ENUM', message: `must be one of ${names.join(', ')}` }]);
