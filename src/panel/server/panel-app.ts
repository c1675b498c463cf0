/**
 * The panel as a Koa application. The order of its steps is the security policy: assets and public pages need no session; for
 * all other pages session, role, restaurant and CSRF token are checked before the handler runs. For a POST these checks run
 * before the body is read, so that a stranger cannot make the server read a long one, and again after it, because the session
 * or the role may end while the body is on its way.
 */
import type { IncomingMessage, RequestListener } from 'node:http';
import Koa from 'koa';
import type { Clock } from '#src/platform/clock.ts';
import { newId } from '#src/platform/ids.ts';
import type { Logger } from '#src/platform/log.ts';
import { assertTopics, eventsPath, streamUrlOf } from '../live/page-topics.ts';
import { type Answer, redirect } from '../page/answer.ts';
import { OutdatedForm } from '../page/form-basis.ts';
import type { Page, View } from '../page/page.ts';
import { panelPath } from '../page/page-path.ts';
import type { PublicPage } from '../page/public-page.ts';
import type { Visitor } from '../ports/staff.ts';
import { isLanguage, textsOf } from '../texts/texts.ts';
import { ProblemError, problemOf, problemPage } from '../view/problem-page.ts';
import {
  readPosted,
  requireCleanPath,
  requireFactor,
  requireOwnClient,
  requireOwnRestaurant,
  requireRole,
  requireSameOrigin,
  requireSession,
  requireToken,
} from './checks.ts';
import { browserCookie, languageCookie, pendingCookie, sessionCookie } from './cookies.ts';
import { csrfFieldOf } from './csrf.ts';
import { chooseLanguage } from './negotiate.ts';
import { createPageTurns } from './page-turns.ts';
import { createRoutes } from './routes.ts';
import { isHtmx, isRead, type PanelContext, type Step, sessionOf } from './state.ts';
import { type AnswerDeps, createWriteAnswer, type WriteAnswer } from './write-answer.ts';
import { writeEmpty, writeRedirect } from './write-response.ts';

export type PanelAppDeps = AnswerDeps & {
  clock: Clock;
  log: Logger;
  /** Tells whether a thrown error is a temporary failure of the store. */
  isPassing: (thrown: unknown) => boolean;
  /** Public origin of the server. */
  origin: string;
  readSource: (request: IncomingMessage) => Pick<Visitor, 'address' | 'network'>;
  /** Sent with every response except assets. */
  headers: Readonly<Record<string, string>>;
};

type PageTurns = ReturnType<typeof createPageTurns>;

export const createPanelApp = (deps: PanelAppDeps): RequestListener => {
  assertTopics(deps.watch, deps.pages);
  const app = new Koa();
  // `catchFailures` logs failures; Koa would print connections that break off.
  app.silent = true;
  for (const step of stepsOf(deps)) app.use(step);
  const handle = app.callback();
  return (request, response) => void handle(request, response);
};

const stepsOf = (deps: PanelAppDeps): readonly Step[] => {
  const write = createWriteAnswer(deps);
  const turns = createPageTurns();
  const session = readSession(deps, turns);
  return [
    begin,
    catchFailures(deps),
    deps.assets.serve,
    setHeaders(deps),
    redirectTrailingSlash,
    showProblems(deps, write),
    session,
    // Before a body is read: another site can make a browser send its cookies along.
    requireSameOrigin(deps.origin),
    createRoutes(deps.publicPages, (page) => [readPosted(), answerPublic(page, deps, write)]),
    requireSession,
    requireCleanPath,
    createRoutes(deps.pages, (page) => {
      const access = [requireRole(page), requireFactor(page), requireOwnRestaurant, requireOwnClient];
      const posted = [readPosted(page), session, requireSession, ...access];
      return [
        ...access,
        ...(page.method === 'POST' ? posted : []),
        requireToken,
        answerSignedIn(page, deps, { ...write, turns }),
      ];
    }),
    () => {
      throw new ProblemError('notFound');
    },
  ];
};

const begin: Step = (ctx, next) => {
  const language = chooseLanguage(ctx.req.headers['accept-language']);
  ctx.state = {
    // The listener sets the id that the access log has. Only a test serves the panel without it.
    requestId: ctx.response.get('x-request-id') || newId('req'),
    language,
    texts: textsOf[language],
    query: new URLSearchParams(ctx.querystring),
    live: undefined,
    params: {},
    form: new URLSearchParams(),
    streamUrl: undefined,
  };
  return next();
};

/** For a failure during the response, or while the problem page was made. */
const catchFailures = ({ log }: PanelAppDeps): Step => {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      log.error({ err: error, request_id: ctx.state.requestId }, 'a page of the panel could not be answered');
      if (ctx.headerSent) ctx.res.destroy();
      else writeEmpty(ctx, 500);
    }
  };
};

const setHeaders = ({ headers }: PanelAppDeps): Step => {
  return (ctx, next) => {
    ctx.set(headers);
    ctx.set('x-request-id', ctx.state.requestId);
    return next();
  };
};

/** A page has one address. */
const redirectTrailingSlash: Step = (ctx, next) => {
  const { path, search } = ctx;
  if (path.length > panelPath.length && path.endsWith('/') && isRead(ctx))
    return writeRedirect(ctx, withoutLastSlashes(path) + search);
  return next();
};

/** A loop, because the pattern /\/+$/ takes quadratic time over a path with many runs of slashes. */
const withoutLastSlashes = (path: string): string => {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
};

/** Shows a page for an error that a later step throws. */
const showProblems = ({ log, isPassing }: PanelAppDeps, { writePage }: WriteAnswer): Step => {
  return async (ctx, next) => {
    try {
      await next();
    } catch (thrown) {
      if (ctx.headerSent) throw thrown;
      const { requestId, texts } = ctx.state;
      const { problem, retryAfter, ...more } = problemOf(thrown, isPassing, texts);
      if (problem === 'failed' || problem === 'unavailable')
        log.error({ err: thrown, request_id: requestId, path: ctx.path }, 'a page of the panel failed');
      // A failed page has neither the navigation of its section nor a stream.
      if (!(thrown instanceof ProblemError)) Object.assign(ctx.state, { params: {}, streamUrl: undefined });
      if (retryAfter !== undefined) ctx.set('retry-after', retryAfter);
      await writePage(ctx, problemPage(texts, problem, { requestId, ...more }));
    }
  };
};

/** Also chooses the language: of the account, else of the cookie, else of the browser. */
const readSession = ({ ports, readSource }: PanelAppDeps, { findSession }: PageTurns): Step => {
  return async (ctx, next) => {
    // A script of the page sent the request, not the user, so it does not count as use of the session. Browsers open the stream
    // of events again by themselves after each break, and without headers of the page.
    const isBackground = ctx.get('x-panel-background') === '1' || ctx.path === `${panelPath}${eventsPath}`;
    const token = ctx.cookies.get(sessionCookie);
    if (token === undefined) ctx.state.live = undefined;
    else
      ctx.state.live = await findSession(ctx, readSource(ctx.req).network, () =>
        ports.staff.sessions.find(token, !isBackground),
      );
    const chosen = ctx.state.live?.user.language ?? ctx.cookies.get(languageCookie);
    if (isLanguage(chosen)) Object.assign(ctx.state, { language: chosen, texts: textsOf[chosen] });
    return next();
  };
};

const answerPublic = (page: PublicPage, deps: PanelAppDeps, { writeAnswer }: WriteAnswer): Step => {
  return async (ctx) => {
    const { query, form, language, texts, live } = ctx.state;
    await writeAnswer(
      ctx,
      await page.handle({
        path: ctx.path,
        ...{ query, form, language, texts, live },
        visitor: visitorOf(ctx, deps),
        pending: ctx.cookies.get(pendingCookie),
        staff: deps.ports.staff,
      }),
    );
  };
};

const answerSignedIn = (
  page: Page,
  deps: PanelAppDeps,
  { writeAnswer, turns }: WriteAnswer & { turns: PageTurns },
): Step => {
  const answer = async (ctx: PanelContext): Promise<Answer | undefined> => {
    const { restaurant = '', client = '' } = ctx.state.params;
    const { user } = sessionOf(ctx);
    if (ctx.method === 'GET' && !isHtmx(ctx))
      ctx.state.streamUrl = await streamUrlOf(deps.watch, page, user, { restaurant, client });
    const answer = await handle(page, viewOf(ctx, deps));
    // A download lasts as long as its client takes, which must not keep a turn.
    if (answer.kind === 'file') return answer;
    await writeAnswer(ctx, answer);
    return undefined;
  };
  return async (ctx) => {
    // Changes have turns of their own: one that waits for the network must keep no page waiting.
    const inTurn = isRead(ctx) ? turns.readPage : turns.change;
    const left = await inTurn(ctx, sessionOf(ctx).user.id, () => answer(ctx));
    if (left !== undefined) await writeAnswer(ctx, left);
  };
};

const handle = async (page: Page, view: View): Promise<Answer> => {
  try {
    return await page.handle(view);
  } catch (thrown) {
    if (!(thrown instanceof OutdatedForm)) throw thrown;
    return redirect(thrown.path, { tone: 'bad', text: thrown.publicText });
  }
};

const visitorOf = (ctx: PanelContext, { readSource }: PanelAppDeps): Visitor => ({
  ...readSource(ctx.req),
  agent: ctx.get('user-agent'),
  browser: ctx.cookies.get(browserCookie),
});

const viewOf = (ctx: PanelContext, deps: PanelAppDeps): View => {
  const live = sessionOf(ctx);
  const visitor = visitorOf(ctx, deps);
  const { language, texts, params, query, form, requestId } = ctx.state;
  return {
    user: live.user,
    session: { id: live.session.id },
    needsFactor: live.needsFactor,
    ...{ language, texts, params, query, form, requestId },
    path: ctx.path,
    ports: deps.ports,
    actor: `panel:${live.user.id}`,
    now: deps.clock.now(),
    ...{ visitor, address: visitor.address },
    wantsFragment: isHtmx(ctx),
    csrfField: csrfFieldOf(live),
  };
};
