/**
 * `/auth/check`: the pipeline's decision for a proxy that carries the traffic itself (nginx auth_request, Traefik
 * ForwardAuth, Caddy forward_auth, Envoy ext_authz, HAProxy with config/haproxy-auth.lua). Every client of the public
 * listener may ask, and may claim any original request. The answer says only what the presented credential may do, which
 * its holder could find out anyway. So the proxy must be the only way to the service behind it, and must set the headers
 * itself.
 */
import { Fault } from '#src/contract/fault.ts';
import { CheckFault } from '../answer/check-fault.ts';
import type { WriteAnswer, WriteFault } from '../answer/write-answer.ts';
import { ambiguousCheck, decisionChanged, methodNotAllowed, unsupportedMediaType } from '../model/faults.ts';
import type { Principal } from '../model/principal.ts';
import type { Exchange, Step } from '../request/exchange.ts';
import { mediaTypeOf } from '../request/limit-body.ts';
import type { IdentifyTo } from './identity/assert-identity.ts';
import { listedTenants } from './identity/listed-tenants.ts';
import { authCheckPath, createReadOriginalRequest, type OriginalRequest } from './read-original-request.ts';

type AuthCheckDeps = {
  urlBytesMax: number;
  /** The steps of kind `check` (pipeline.ts), which refuse OPTIONS, since nothing may be allowed without a caller. */
  steps: readonly Step[];
  /** Upstreams for which the answer has the identity that the gateway would send to them. */
  audiences: ReadonlySet<string>;
  identifyTo: IdentifyTo;
  write: WriteAnswer;
  /** With real statuses: to the other proxy, 200 means yes. */
  writeFault: WriteFault;
};

type OpenAuthCheckDeps = {
  settings: { auth_check: 'on' | 'off'; auth_check_audiences: readonly string[]; url_bytes_max: number };
  steps: readonly Step[];
  identifyTo: IdentifyTo;
  answers: { write: WriteAnswer; writeHonestFault: WriteFault };
};

/** Undefined: the operator does not offer it. */
export const openAuthCheck = ({ settings, steps, identifyTo, answers }: OpenAuthCheckDeps): AuthCheck | undefined =>
  settings.auth_check === 'off'
    ? undefined
    : createAuthCheck({
        urlBytesMax: settings.url_bytes_max,
        steps,
        audiences: new Set(settings.auth_check_audiences),
        identifyTo,
        write: answers.write,
        writeFault: answers.writeHonestFault,
      });

export type AuthCheck = { owns: (path: string) => boolean; serve: (exchange: Exchange) => void };

const createAuthCheck = (deps: AuthCheckDeps): AuthCheck => {
  const readOriginal = createReadOriginalRequest(deps);
  const decide = async (check: Exchange): Promise<void> => {
    check.asked = 'decision';
    const checked = { ...check };
    let original: OriginalRequest | undefined;
    try {
      original = readOriginal({ ...check, rawHeaders: check.req.rawHeaders });
      if (original === undefined) throw new CheckFault(ambiguousCheck());
      Object.assign(checked, partsOf(original.target), { method: original.method, host: original.host });
      if (original.isRefused) checked.asked = 'refusal';
      for (const step of deps.steps) {
        const pending = step(checked);
        if (pending !== undefined) await pending;
      }
      refuseUnseenForm(checked);
      if (original.isRefused) throw decisionChanged();
      const headers = identityOf(deps, checked);
      copyDecision(check, checked);
      deps.write(check, { status: 200, headers, body: '' });
    } catch (thrown) {
      copyDecision(check, checked);
      // The dialect depends on the original query too; the method of the check decides whether a body is sent.
      const answering = { ...checked, method: check.method };
      deps.writeFault(answering, answerableTo(thrown, original));
      check.refusal = answering.refusal;
    }
  };
  return {
    owns: (path) => path === authCheckPath || path.startsWith(`${authCheckPath}/`),
    serve: (check) => {
      if (check.path === authCheckPath && check.method !== 'GET' && check.method !== 'HEAD') {
        deps.writeFault(check, methodNotAllowed('GET, HEAD'));
        return;
      }
      void decide(check);
    },
  };
};

const partsOf = (target: string): { target: string; path: string; search: string } => {
  const mark = target.indexOf('?');
  if (mark === -1) return { target, path: target, search: '' };
  return { target, path: target.slice(0, mark), search: target.slice(mark + 1) };
};

/** Copies the decision to the exchange of the check, which the answer and the log line are made from. */
const copyDecision = (check: Exchange, { route, principal, allowed, dpopNonce, awaitsContinue }: Exchange): void => {
  Object.assign(check, { route, principal, allowed, dpopNonce, awaitsContinue });
};

/**
 * A form may hold a token. On routes for JSON the pipeline refuses it after reading it; here the other proxy has the body, so
 * any form is refused. Bodies of GET and HEAD mean nothing on these routes.
 */
const refuseUnseenForm = ({ req, route, method }: Exchange): void => {
  if (method === 'GET' || method === 'HEAD') return;
  if (route?.body === 'json' && mediaTypeOf(req.headers['content-type']) === 'application/x-www-form-urlencoded')
    throw unsupportedMediaType();
};

/**
 * Most proxies pass any refusal on with its own status. nginx makes 500 of all but 401 and 403, so it gets 403 for them, as
 * does a check that names no request. A failure of the gateway (5xx) stays one, which is no "yes" either.
 */
const answerableTo = (thrown: unknown, original: OriginalRequest | undefined): unknown => {
  if (original?.takesEveryStatus === true || !(thrown instanceof Fault)) return thrown;
  return thrown.status >= 500 || thrown.status === 401 || thrown.status === 403 ? thrown : new CheckFault(thrown);
};

const identityOf = (deps: AuthCheckDeps, checked: Exchange): string[] => {
  const { principal, route } = checked;
  if (route === undefined) throw new Error('a check ended without a decision');
  if (route.access === 'public' || principal === undefined) return ['cache-control', 'no-store'];
  const headers = [
    'cache-control',
    'no-store',
    'x-orderpass-kind',
    principal.kind,
    'x-orderpass-id',
    principal.id,
    ...(principal.kind === 'api_key' ? [] : ['x-orderpass-client', principal.id]),
    ...tenantsOf(principal),
    'x-orderpass-scopes',
    [...principal.scopes].join(' '),
  ];
  if (deps.audiences.has(checked.cellUpstream ?? route.upstream)) {
    const fields = deps.identifyTo(checked, checked.method);
    for (let index = 0; index < fields.length; index += 2)
      if (!headers.includes(fields[index] ?? '')) headers.push(...fields.slice(index, index + 2));
  }
  return headers;
};

/** Without tenants whose API access is off, since services behind another proxy do not check it. */
const tenantsOf = ({ tenants, tenantsDisabled }: Principal): string[] => {
  const { tenants: listed, total } = listedTenants({ tenants, tenants_disabled: tenantsDisabled });
  return listed === undefined
    ? ['x-orderpass-tenants-total', String(total)]
    : ['x-orderpass-tenants', listed.join(',')];
};
