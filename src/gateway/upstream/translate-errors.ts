/**
 * Translates an upstream's error answer to the caller's dialect (interface 6.3). Bodies are read within bounds on bytes and
 * time; the rest is not awaited. Only an envelope too long to be read is streamed as it is.
 */
import type { Dispatcher } from 'undici';
import { Fault, isFaultCode } from '#src/contract/fault.ts';
import { dialectHeader } from '#src/contract/headers.ts';
import {
  type DialectSettings,
  isOAuthStatus,
  jsonType,
  type RenderedFault,
  renderEnvelope,
  renderOAuth,
  renderProblem,
  wantsProblem,
} from '../answer/dialects.ts';
import type { StatusFor } from '../answer/legacy-status.ts';
import type { NoteDenial, WriteAnswer, WriteFault } from '../answer/write-answer.ts';
import { limitedText, upstreamUnreachable } from '../model/faults.ts';
import { carriesBearer, challengeScheme } from '../request/carries-bearer.ts';
import { type Exchange, isAnonymous } from '../request/exchange.ts';
import { denialReasonOf } from '../whoami/denial.ts';
import { decodeBody } from './refusal/decode-body.ts';
import { codeFor, type Refusal, readRefusal } from './refusal/read-refusal.ts';
import {
  type AnswerRules,
  firstValueOf,
  listedValueOf,
  passHeadersWithoutBody,
  type UpstreamHeaders,
} from './response-headers.ts';

const bodyBytesMax = 64 * 1024;
/** A long report that has to be turned into a problem document. */
const reportBytesMax = 4 * 1024 * 1024;
const bodyTimeoutMs = 5_000;
const noScopes: ReadonlySet<string> = new Set();

type Controller = Dispatcher.DispatchController;

/** Receives the body of one error answer. `fail` ends it early with the bytes received so far, `cancel` without an answer. */
export type ErrorCollector = {
  push(chunk: Buffer): void;
  end(): void;
  fail(error: Error): void;
  cancel(): void;
};

type TranslateDeps = {
  write: WriteAnswer;
  writeFault: WriteFault;
  noteDenial: NoteDenial;
  /** Writes the refusal to the audit. Undefined: nothing to wait for. */
  auditRefusal: (exchange: Exchange, fault: Fault, reason: string) => Promise<void> | undefined;
  dialects: DialectSettings;
  statusFor: StatusFor;
  /** All scopes, in their sequence. */
  scopes: readonly string[];
};

type ErrorAnswer = {
  status: number;
  headers: UpstreamHeaders;
  controller: Pick<Controller, 'abort'>;
  rules: AnswerRules;
  /** Streams a body that is an envelope and too long to be read; gets the bytes received so far. */
  passOn: (collected: readonly Buffer[], status: number) => void;
};

export type TranslateError = (exchange: Exchange, answer: ErrorAnswer) => ErrorCollector;

const envelopeStart = /^\s*\{\s*"success"\s*:\s*false\b/;

export const createTranslateError = (deps: TranslateDeps): TranslateError => {
  return (exchange, answer) => collect(deps, exchange, answer, dialectOf(exchange, answer.status, answer.headers));
};

const collect = (deps: TranslateDeps, exchange: Exchange, answer: ErrorAnswer, dialect: Dialect): ErrorCollector => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let finished = false;
  const finish = (action: () => void): void => {
    if (finished) return;
    finished = true;
    clearTimeout(timer);
    try {
      action();
    } catch (error) {
      // This is the last place that can answer: for the relay the answer of the upstream is over, and a timer has no caller.
      deps.writeFault(exchange, upstreamUnreachable(error));
      answer.controller.abort(new Error('an error answer could not be translated'));
    }
  };
  const write = (body: Buffer | undefined) => (): void => writeRefusal(deps, exchange, answer, dialect, body);
  const stop = (): void => {
    finish(write(undefined));
    answer.controller.abort(new Error('the rest of an error body is not wanted'));
  };
  const timer = setTimeout(stop, bodyTimeoutMs);
  return {
    push: (chunk) => {
      if (finished) return;
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes <= bodyBytesMax) return;
      if (dialect === 'oauth' || bytes > reportBytesMax || !isLongEnvelope(answer.headers, chunks)) stop();
      else if (dialect === 'envelope') finish(() => passLong(deps, exchange, answer, chunks));
    },
    end: () => finish(write(Buffer.concat(chunks, bytes))),
    fail: (error) => {
      // Dialect a needs the status only, so a cut body is enough; half an envelope would be a wrong answer.
      if (dialect === 'oauth') finish(write(Buffer.concat(chunks, bytes)));
      else finish(() => deps.writeFault(exchange, upstreamUnreachable(error)));
    },
    cancel: () => finish(() => undefined),
  };
};

type Dialect = 'oauth' | 'problem' | 'envelope';

const dialectOf = (exchange: Exchange, status: number, headers: UpstreamHeaders): Dialect => {
  if (isOAuthStatus(status) && (headers[dialectHeader] === 'oauth' || carriesBearer(exchange))) return 'oauth';
  return wantsProblem(exchange.req.headers.accept) ? 'problem' : 'envelope';
};

const isLongEnvelope = (headers: UpstreamHeaders, chunks: readonly Buffer[]): boolean =>
  headers['content-encoding'] === undefined &&
  /^application\/json\b/i.test(firstValueOf(headers, 'content-type') ?? '') &&
  envelopeStart.test(chunks[0]?.subarray(0, 128).toString('latin1') ?? '');

/** Passes on an envelope that is not read as a whole. Its code is at the front, as in every envelope of this interface. */
const passLong = (deps: TranslateDeps, exchange: Exchange, answer: ErrorAnswer, chunks: readonly Buffer[]): void => {
  const { status, headers } = answer;
  const start = chunks[0]?.subarray(0, 256).toString('latin1') ?? '';
  const named = /^\s*\{\s*"success"\s*:\s*false\s*,\s*"error"\s*:\s*"([A-Z_]{1,64})"/.exec(start)?.[1];
  const isKnown = isFaultCode(named);
  const fault = new Fault(isKnown ? named : codeFor(status), '', { status });
  const by = isKnown ? 'upstream' : 'foreign';
  exchange.refusal = fault.code;
  deps.noteDenial(exchange, fault, by);
  // Part of the answer is sent with the first bytes, so it does not wait for the audit.
  deps.auditRefusal(exchange, fault, denialReasonOf(fault, by))?.catch(() => undefined);
  const isOAuth = headers[dialectHeader] === 'oauth';
  answer.passOn(chunks, isOAuth ? status : deps.statusFor(exchange, fault.code, status));
};

const writeRefusal = (
  deps: TranslateDeps,
  exchange: Exchange,
  { status, headers, rules }: ErrorAnswer,
  dialect: Dialect,
  body: Buffer | undefined,
): void => {
  const bytesMax = dialect === 'problem' ? reportBytesMax : bodyBytesMax;
  const decoded =
    body === undefined ? undefined : decodeBody(body, listedValueOf(headers, 'content-encoding'), bytesMax);
  const retryAfter = firstValueOf(headers, 'retry-after');
  const contentType = firstValueOf(headers, 'content-type');
  const challenge = headers['www-authenticate'];
  const granted = exchange.principal?.scopes ?? noScopes;
  const anonymous = isAnonymous(exchange);
  const refusal = explained(
    exchange,
    readRefusal({ status, contentType, body: decoded, retryAfter, challenge, granted, anonymous }, deps.scopes),
  );
  exchange.refusal = refusal.fault.code;
  const by = refusal.codeKnown ? 'upstream' : 'foreign';
  deps.noteDenial(exchange, refusal.fault, by);
  const rendered = render(refusal, exchange, dialect, deps.dialects, decoded);
  const kept = passHeadersWithoutBody(headers, status, rules);
  const own = ['content-type', rendered.contentType, 'cache-control', 'no-store'];
  if (rendered.challenge !== undefined && !anonymous) own.push('www-authenticate', rendered.challenge);
  if ((status === 429 || status === 503) && retryAfter === undefined) own.push('retry-after', '1');
  const sentStatus = headers[dialectHeader] === 'oauth' ? status : deps.statusFor(exchange, refusal.fault.code, status);
  const send = (): void => deps.write(exchange, { status: sentStatus, headers: own.concat(kept), body: rendered.body });
  const audited = deps.auditRefusal(exchange, refusal.fault, denialReasonOf(refusal.fault, by));
  if (audited === undefined) send();
  else audited.then(send).catch(() => exchange.res.destroy());
};

/** A service knows the tenants of a narrowed token and not why there are no others. */
const explained = ({ principal }: Exchange, refusal: Refusal): Refusal => {
  const { fault, codeKnown } = refusal;
  if (principal?.narrow?.details === undefined || !codeKnown || fault.code !== 'UNAUTHORIZED') return refusal;
  const text = `${fault.publicText}. ${limitedText(principal.narrow.text)}`;
  return { ...refusal, fault: new Fault(fault.code, text, { status: fault.status }) };
};

type RenderedRefusal = Omit<RenderedFault, 'body'> & { body: string | Buffer };

const render = (
  { fault, codeKnown, foreignCode, requestId, isEnvelope }: Refusal,
  exchange: Exchange,
  dialect: Dialect,
  dialects: DialectSettings,
  decoded: Buffer | undefined,
): RenderedRefusal => {
  const id = requestId ?? exchange.requestId;
  if (dialect === 'oauth') {
    const scheme = challengeScheme(exchange);
    return renderOAuth(fault, id, dialects, { codeKnown, scheme, ...(foreignCode && { code: foreignCode }) });
  }
  if (dialect === 'problem') return renderProblem(fault, id, dialects);
  const rendered = renderEnvelope(fault, id, dialects);
  // An envelope is passed on byte for byte: a replayed answer must be equal to the first.
  return isEnvelope && decoded !== undefined ? { ...rendered, contentType: jsonType, body: decoded } : rendered;
};
