/** A refusal of a caller that is not accepted but whose key or client is known (interface 11.5). */
import { Fault, type FaultCode, type FaultOptions } from '#src/contract/fault.ts';

export const denialReasons = [
  'token_expired',
  'token_revoked',
  'token_not_yet_valid',
  'token_audience',
  'token_limited',
  'client_disabled',
  'secret_wrong',
  'secret_ended',
  'key_revoked',
  'key_expired',
  'leak_reported',
  'credentials_ambiguous',
  'quarantined',
  'restaurant_gone',
  'restaurant_not_granted',
  'api_disabled',
  'address_not_allowed',
  'scope_missing',
  'rate_limited',
  'parameters',
  'upstream',
  'simulated',
] as const;

export type DenialReason = (typeof denialReasons)[number];

export type Trace = {
  /** Key id or client id. */
  callerId: string;
  reason: DenialReason;
  /** What the refused credential is for, so that the audit finds the refusal under it. Missing: it is not proven, or of many. */
  tenants?: readonly string[];
  detail?: Readonly<Record<string, unknown>>;
};

export class TracedFault extends Fault {
  readonly trace: Trace;
  constructor(code: FaultCode, publicText: string, trace: Trace, options: FaultOptions = {}) {
    super(code, publicText, options);
    this.trace = trace;
  }
}

/** A fault that a sandbox credential asked for (interface 25.2). It is answered as the real one and counted as none. */
export class SimulatedFault extends Fault {
  readonly simulated: string;
  constructor(simulated: string, real: Fault) {
    const { status, errors, extra, headers } = real;
    super(real.code, real.publicText, {
      status,
      ...(errors && { errors }),
      ...(extra && { extra }),
      ...(headers && { headers }),
    });
    this.simulated = simulated;
  }
}

/** The time of an end, for people. */
export const endedDetail = (endedMs: number, nowMs: number): Readonly<Record<string, unknown>> => ({
  expired_iso: isoSeconds(new Date(endedMs)),
  expired_seconds_ago: Math.max(0, Math.floor((nowMs - endedMs) / 1000)),
});

/** Of a credential that a leak report ended (interface 29). */
export const leakedTrace = (callerId: string, leakedMs: number): Trace => ({
  callerId,
  reason: 'leak_reported',
  detail: { reported_iso: isoSeconds(new Date(leakedMs)) },
});

/** Whole seconds, UTC. */
export const isoSeconds = (date: Date): string => date.toISOString().replace(/\.\d{3}Z$/, 'Z');

/** The token endpoint, which is no route of the file of routes. `id`: the name that the reference gives to it. */
export const tokenRoute = { id: 'oauth.token', path: '/api/oauth/token' } as const;

/** A refused token request whose client was identified. */
export type TokenRefusal = {
  clientId: string;
  requestId: string;
  status: number;
  /** As in RFC 6749 section 5.2. */
  code: string;
  durationMs: number;
};
