/**
 * The endpoints that take reports of leaked credentials (interface 29), as Koa middleware. Possession of a value proves the right to
 * end it, so no caller authenticates. The answer is the same for every value, and leaves at times that do not depend on it.
 */
import { parse } from 'node:querystring';
import { setTimeout as pause } from 'node:timers/promises';
import type { Context, Middleware } from 'koa';
import type { Logger } from '#src/platform/log.ts';
import { leakReporters } from '../../audit/event/event.ts';
import type { AddressOf, SourceOf } from '../../limits/source-address.ts';
import { toRefusal, writeAnswer } from '../../oauth/oauth.ts';
import { errorAnswer, invalidField, invalidRequest, type OAuthAnswer, slowDown } from '../../oauth/oauth-answers.ts';
import { readFormText } from '../../oauth/read-token-request.ts';
import { cleanUrl } from './clean-url.ts';
import type { GithubKeys } from './github-keys.ts';
import { type FoundByGithub, githubAnswer, readGithubReports } from './github-reports.ts';
import type { LimitReports } from './limit-reports.ts';
import { readValue } from './read-value.ts';
import type { ReportLeak } from './report-leak.ts';

export type LeakEndpointsDeps = {
  origin: string;
  report: ReportLeak;
  limit: LimitReports;
  /** Undefined: reports of GitHub are not taken. */
  github: { keys: GithubKeys; limit: LimitReports } | undefined;
  sourceOf: SourceOf;
  addressOf: AddressOf;
  log: Logger;
};

const leakPath = '/api/oauth/report-leak';
const githubLeakPath = `${leakPath}/github`;

/** chosen: longer than looking a value up and ending it takes. An answer leaves at a multiple of it after its request. */
const answerEveryMs = 400;

type Endpoint = (ctx: Context) => Promise<OAuthAnswer>;

/** Expects `ctx.state.requestId`. */
export const createLeakEndpoints = (deps: LeakEndpointsDeps): Middleware => {
  const endpoints = new Map<string, Endpoint>([[leakPath, takeReport(deps)]]);
  if (deps.github !== undefined) endpoints.set(githubLeakPath, takeGithubReports(deps, deps.github));
  return async (ctx, next) => {
    const endpoint = endpoints.get(ctx.path);
    return endpoint === undefined ? next() : writeAnswer(ctx, await answerWith(deps, endpoint, ctx));
  };
};

const answerWith = async (
  { origin, log }: LeakEndpointsDeps,
  endpoint: Endpoint,
  ctx: Context,
): Promise<OAuthAnswer> => {
  if (ctx.method === 'OPTIONS') return { status: 204, headers: { allow: 'POST' }, body: undefined };
  const requestId = String(ctx.state.requestId);
  try {
    if (ctx.method !== 'POST') throw invalidRequest('This address takes POST only', 405, { allow: 'POST' });
    return await endpoint(ctx);
  } catch (error) {
    const refusal = toRefusal(error);
    if (refusal.status >= 500) log.error({ request_id: requestId, err: error }, 'leak report failed');
    return errorAnswer(refusal, origin, requestId);
  }
};

const takeReport = ({ report, limit, sourceOf, addressOf }: LeakEndpointsDeps): Endpoint => {
  return async (ctx) => {
    const startedMs = performance.now();
    refuseBeyond(limit.ofSource(sourceOf(ctx.req)) ?? (await limit.inAll()));
    const { value, url } = readForm(await readFormText(ctx.req, ctx.querystring));
    await report(value, {
      actor: leakReporters.anyone,
      address: addressOf(ctx.req) ?? null,
      requestId: String(ctx.state.requestId),
      url: cleanUrl(url, value),
      source: null,
    });
    await pause(answerEveryMs - ((performance.now() - startedMs) % answerEveryMs));
    return { status: 202, headers: {}, body: { received: true } };
  };
};

/** Unknown fields, such as the id of the client, are ignored: the value alone proves possession. */
const readForm = (text: string): { value: string; url: string | undefined } => {
  const { token, url } = parse(text, undefined, undefined, { maxKeys: 100 });
  if (Array.isArray(token)) throw invalidField('token', 'DUPLICATE', 'must not be sent twice');
  const value = readValue(token ?? '');
  if (value === '') throw invalidField('token', 'REQUIRED', 'is missing');
  return { value, url: typeof url === 'string' ? url : undefined };
};

const takeGithubReports = (
  { report, sourceOf, addressOf }: LeakEndpointsDeps,
  { keys, limit }: NonNullable<LeakEndpointsDeps['github']>,
): Endpoint => {
  return async (ctx) => {
    refuseBeyond(limit.ofSource(sourceOf(ctx.req)));
    const found = await readGithubReports(keys, ctx.req);
    // Only signed reports are counted together: others would use up what those of GitHub need.
    refuseBeyond(await limit.inAll());
    const about = {
      actor: leakReporters.github,
      address: addressOf(ctx.req) ?? null,
      requestId: String(ctx.state.requestId),
    };
    const label = async (one: FoundByGithub) => {
      const value = one.token.trim();
      const source = sourceName.test(one.source ?? '') ? (one.source ?? null) : null;
      return githubAnswer(one, await report(value, { ...about, url: cleanUrl(one.url, value), source }));
    };
    return { status: 200, headers: {}, body: await Promise.all(found.map(label)) };
  };
};

/** Such as `commit`, `gist_content`. */
const sourceName = /^[a-z_]{1,40}$/;

const refuseBeyond = (seconds: number | undefined): void => {
  if (seconds !== undefined) throw slowDown(`Too many reports; send the next one in ${seconds} s`, seconds, 'calls');
};
