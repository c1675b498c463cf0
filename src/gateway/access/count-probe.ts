/**
 * Counts requests for operations that do not exist (404, 405) in the audit, with their caller, so that probing shows. The
 * pipeline answers them before it reads a credential, so the credential is checked here, beside the answer, for a bounded
 * number of requests at once. A request without a known caller is not counted; the log has it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Fault } from '#src/contract/fault.ts';
import { callerOf, secretOf, strangerOf } from '../audit/event/audited-caller.ts';
import type { Fingerprint } from '../audit/event/fingerprint.ts';
import type { Recorder } from '../audit/record/recorder.ts';
import type { AddressOf } from '../limits/source-address.ts';
import type { Allowed } from '../model/allowed-use.ts';
import { TracedFault } from '../model/traced-fault.ts';
import type { Exchange } from '../request/exchange.ts';
import { type Presented, readCredential } from '../request/read-credential.ts';
import type { Authenticate } from './authenticate.ts';

type CountProbeDeps = {
  recorder: Pick<Recorder, 'countFailed'>;
  fingerprint: Fingerprint;
  addressOf: AddressOf;
  authenticate: Authenticate;
  /** Called when the key or client behind the request was found. */
  probed: (exchange: Exchange, callerId: string) => void;
};

const codes: ReadonlySet<string> = new Set(['INVALID_ACTION', 'METHOD_NOT_ALLOWED']);
/** A check of an invented credential costs a query. */
const lookingMax = 128;
const attemptsMax = 5;
const retryMs = 1_000;

type Named = Pick<Allowed, 'kind' | 'credential_id' | 'client_id'> & Partial<Pick<Allowed, 'token_id' | 'tenants'>>;

export const createCountProbe = (deps: CountProbeDeps): ((exchange: Exchange, fault: Fault) => void) => {
  const { recorder, fingerprint, addressOf } = deps;
  let looking = 0;

  const nameOf = async (exchange: Exchange, presented: Presented): Promise<Named | undefined> => {
    for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
      try {
        return callerOf(await deps.authenticate(presented, exchange.req, 'disabled'));
      } catch (error) {
        if (error instanceof TracedFault) return strangerOf(presented, error);
        // The credential is known to be wrong, so there is no caller to name.
        if (error instanceof Fault && error.status < 500) return undefined;
        // The store did not answer in time; the request itself was answered long ago, so a retry delays no caller.
        await delay(retryMs, undefined, { ref: false });
      }
    }
    return undefined;
  };

  const look = async (exchange: Exchange, presented: Presented, { code, status }: Fault): Promise<void> => {
    const named = await nameOf(exchange, presented);
    if (named === undefined) return;
    const callerId = named.client_id ?? named.credential_id;
    if (callerId !== null) deps.probed(exchange, callerId);
    const value = secretOf(presented);
    recorder.countFailed(
      {
        token_id: null,
        tenants: [],
        ...named,
        fingerprint: value === undefined ? null : fingerprint(value),
        route_id: null,
        scopes: [],
        address: addressOf(exchange.req) ?? null,
        action: 'request.denied',
        reason: code.toLowerCase(),
        details: JSON.stringify({ code, status }),
      },
      exchange.requestId,
    );
  };

  return (exchange, fault) => {
    if (exchange.route !== undefined || !codes.has(fault.code) || looking >= lookingMax) return;
    const presented = readCredential(exchange.req.rawHeaders, exchange.search, exchange.dpop, undefined);
    if (presented.kind === 'none' || presented.kind === 'refused') return;
    looking += 1;
    look(exchange, presented, fault)
      .catch(() => undefined)
      .finally(() => {
        looking -= 1;
      });
  };
};
