/** Joins the intake of leak reports with the store, the tokens and the limits. */
import type { Middleware } from 'koa';
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import type { Kv } from '#src/platform/kv/index.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { BearerTokens } from '../../access/bearer-tokens.ts';
import { createEndLeaked } from '../../credentials/change/end-leaked.ts';
import type { CredentialCache } from '../../credentials/lookup/cache.ts';
import type { FetchDocument } from '../../credentials/trust/fetch-document.ts';
import type { Limits } from '../../limits/limits.ts';
import type { LeakSettings } from './config.ts';
import { createFindLeaked } from './find-leaked.ts';
import { createGithubKeys } from './github-keys.ts';
import { createLeakEndpoints } from './leak-endpoints.ts';
import { createLimitReports } from './limit-reports.ts';
import { createReportLeak, type LeakResult } from './report-leak.ts';

type OpenLeakReportsDeps = {
  settings: LeakSettings;
  origin: string;
  db: Kysely<unknown>;
  box: SecretBox;
  clock: Clock;
  log: Logger;
  kv: Kv;
  access: { credentials: Pick<CredentialCache, 'refresh'>; tokens: BearerTokens };
  limits: Pick<Limits, 'sourceOf' | 'addressOf'>;
  fetchDocument: FetchDocument;
  count: (result: LeakResult) => void;
};

/** chosen: a person reports a few values, GitHub sends up to a thousand in one request. */
const personal = { name: 'leak-reports', perSourceMax: 30, wholeMax: 1_200 };
const ofGithub = { name: 'leak-reports-github', perSourceMax: 600, wholeMax: 600 };

export const openLeakReports = (deps: OpenLeakReportsDeps): Middleware => {
  const { settings, kv, access, limits, count } = deps;
  if (settings.leak_reports === 'off') return (_ctx, next) => next();
  const { sourceOf, addressOf } = limits;
  return createLeakEndpoints({
    ...{ origin: deps.origin, log: deps.log, sourceOf, addressOf },
    report: createReportLeak({
      find: createFindLeaked({ ...deps, tokens: access.tokens }),
      end: createEndLeaked(deps),
      credentials: access.credentials,
      count,
    }),
    limit: createLimitReports({ kv, ...personal }),
    github:
      settings.leak_reports_github === 'off'
        ? undefined
        : {
            keys: createGithubKeys({ ...deps, url: settings.leak_reports_github_keys }),
            limit: createLimitReports({ kv, ...ofGithub }),
          },
  });
};
