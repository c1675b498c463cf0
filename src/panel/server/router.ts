/**
 * Routes a request to its page. The order of the checks is the security policy: assets and public pages need no session;
 * for all other pages session, role, restaurant and CSRF token are checked before the handler runs.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '#src/platform/clock.ts';
import { newId } from '#src/platform/ids.ts';
import type { Logger } from '#src/platform/log.ts';
import type { ChangeWatch } from '../live/change-watch.ts';
import type { EventStreams } from '../live/event-streams.ts';
import { assertTopics, readTopics, streamUrlOf } from '../live/page-topics.ts';
import type { Answer, PageContent } from '../page/answer.ts';
import { html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { panelPath } from '../page/page-path.ts';
import type { PublicPage } from '../page/public-page.ts';
import type { Ports } from '../ports/ports.ts';
import type { LiveSession } from '../ports/staff.ts';
import type { Texts } from '../texts/en/en.ts';
import { isLanguage, type Language, textsOf } from '../texts/texts.ts';
import { layout } from '../view/layout.ts';
import { navigationFor } from '../view/navigation.ts';
import { type Problem, problemOf, problemPage } from '../view/problem-page.ts';
import type { Assets } from './assets.ts';
import { languageCookie, readCookie, sessionCookie } from './cookies.ts';
import { isCsrfToken } from './csrf.ts';
import type { Flashes } from './flashes.ts';
import { createMatchPage, type Match } from './match-page.ts';
import { chooseLanguage } from './negotiate.ts';
import { readForm } from './read-form.ts';
import { createResponder, isHtmx, type Responder } from './respond.ts';
import { isSameOrigin } from './same-origin.ts';

export type RouterDeps = {
  pages: readonly Page[];
  publicPages: readonly PublicPage[];
  assets: Assets;
  flashes: Flashes;
  watch: ChangeWatch;
  streams: EventStreams;
  ports: Ports;
  clock: Clock;
  log: Logger;
  /** Tells whether a thrown error is a temporary failure of the store. */
  isPassing: (thrown: unknown) => boolean;
  /** Public origin of the server. */
  origin: string;
  sourceOf: (request: IncomingMessage) => string;
  /** Sent with every response except assets. */
  headers: Readonly<Record<string, string>>;
};

/** A request with everything that the router has found out about it. */
type Asked = {
  request: IncomingMessage;
  response: ServerResponse;
  respond: Responder;
  requestId: string;
  path: string;
  query: URLSearchParams;
  live: LiveSession | undefined;
  language: Language;
  texts: Texts;
  params: Readonly<Record<string, string>>;
  /** Address of the page's event stream. */
  streamUrl: string | undefined;
};

export type PanelHandler = (request: IncomingMessage, response: ServerResponse) => void;

export const createRouter = (deps: RouterDeps): PanelHandler => {
  const { assets, log, headers } = deps;
  assertTopics(deps.watch, deps.pages);
  const serve = createServe(deps);
  return (request, response) => {
    const requestId = newId('req');
    const [path = '', search = ''] = splitTarget(request.url ?? '');
    if (assets.serve(path, request, response)) return;
    // A page has one address, so a trailing slash is redirected.
    if (path.length > panelPath.length && path.endsWith('/') && isRead(request))
      return createResponder(request, response, headers).redirect(withoutLastSlashes(path) + (search && `?${search}`));
    const respond = createResponder(request, response, { ...headers, 'x-request-id': requestId });
    serve({ request, response, respond, requestId, path, query: new URLSearchParams(search) }).catch(
      (error: unknown) => {
        // The failure came during the response, perhaps because the client left, or while the problem page was made.
        if (response.headersSent) response.destroy();
        else response.writeHead(500, headers).end();
        if (!request.destroyed)
          log.error({ err: error, request_id: requestId }, 'a page of the panel could not be answered');
      },
    );
  };
};

const isRead = ({ method }: IncomingMessage): boolean => method === 'GET' || method === 'HEAD';

/** A loop, because the pattern /\/+$/ takes quadratic time over a path with many runs of slashes. */
const withoutLastSlashes = (path: string): string => {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
};

const splitTarget = (target: string): [string, string] => {
  const question = target.indexOf('?');
  return question === -1 ? [target, ''] : [target.slice(0, question), target.slice(question + 1)];
};

const createServe = (deps: RouterDeps) => {
  const { origin, log, isPassing } = deps;
  const { sessions } = deps.ports.staff;
  const matchPublic = createMatchPage(deps.publicPages);
  const matchPage = createMatchPage(deps.pages);
  const answerPublic = createAnswerPublic(deps);
  const answerSignedIn = createAnswerSignedIn(deps);
  const send = createSend(deps);
  return async (
    head: Pick<Asked, 'request' | 'response' | 'respond' | 'requestId' | 'path' | 'query'>,
  ): Promise<void> => {
    const { request, path } = head;
    const method = request.method ?? '';
    const language = chooseLanguage(request.headers['accept-language']);
    let asked: Asked = {
      ...head,
      live: undefined,
      language,
      texts: textsOf[language],
      params: {},
      streamUrl: undefined,
    };
    try {
      const live = await sessions.find(readCookie(request, sessionCookie), !isBackground(request));
      asked = inLanguage({ ...asked, live });
      // Checked before the body is read: another site can make a browser send its cookies along.
      if (!isRead(request) && !isSameOrigin(request, origin))
        return await send.problem(asked, 'expired', { detail: asked.texts.frame.otherAddress(origin) });
      const open = matchPublic(method, path);
      if (open !== undefined) return await answerPublic(asked, open);
      if (live === undefined) return sendToSignIn(asked);
      const found = matchPage(method, path);
      if (found === undefined) return await send.problem(asked, 'notFound');
      await answerSignedIn({ ...asked, live, params: found.params }, found);
    } catch (thrown) {
      if (head.response.headersSent) throw thrown;
      const { problem, ...more } = problemOf(thrown, isPassing, asked.texts);
      if (problem === 'failed' || problem === 'unavailable')
        log.error({ err: thrown, request_id: head.requestId, path }, 'a page of the panel failed');
      await send.problem(asked, problem, more);
    }
  };
};

/** The page's script sent the request, not the user, so it does not count as use of the session. */
const isBackground = (request: IncomingMessage): boolean => request.headers['x-panel-background'] === '1';

const inLanguage = (asked: Asked): Asked => {
  const chosen = asked.live?.user.language ?? readCookie(asked.request, languageCookie);
  return isLanguage(chosen) ? { ...asked, language: chosen, texts: textsOf[chosen] } : asked;
};

const sendToSignIn = ({ request, respond, path, query }: Asked): void => {
  const isPage = request.method === 'GET' && !isHtmx(request) && path !== panelPath;
  const search = query.size === 0 ? '' : `?${query}`;
  respond.redirect(`${panelPath}/sign-in${isPage ? `?next=${encodeURIComponent(path + search)}` : ''}`);
};

const createAnswerPublic = (deps: RouterDeps) => {
  const send = createSend(deps);
  return async (asked: Asked, { page }: Match<PublicPage>): Promise<void> => {
    const { request, path, query, language, texts, live } = asked;
    const form = page.method === 'POST' ? await readForm(request) : new URLSearchParams();
    const address = deps.sourceOf(request);
    await send.answer(
      asked,
      await page.handle({ path, query, form, language, texts, address, request, live, staff: deps.ports.staff }),
    );
  };
};

const createAnswerSignedIn = (deps: RouterDeps) => {
  const send = createSend(deps);
  return async (asked: Asked & { live: LiveSession }, { page, params }: Match<Page>): Promise<void> => {
    const { live, request } = asked;
    const { user } = live;
    if (!page.roles.includes(user.role)) return send.problem(asked, 'forbidden');
    const { restaurant } = params;
    // The same answer as for a restaurant that does not exist, so the owner cannot find out whether there is one.
    if (restaurant !== undefined && user.role === 'owner' && !user.restaurants.includes(restaurant))
      return send.problem(asked, 'notFound');
    const form = page.method === 'POST' ? await readForm(request, page.bodyBytesMax) : new URLSearchParams();
    if (page.method === 'POST' && !hasToken(request, form, live)) return send.problem(asked, 'expired');
    const view: View = {
      user,
      session: { id: live.session.id },
      language: asked.language,
      texts: asked.texts,
      path: asked.path,
      params,
      query: asked.query,
      form,
      ports: deps.ports,
      actor: `panel:${user.id}`,
      now: deps.clock.now(),
      address: deps.sourceOf(request),
      request,
      requestId: asked.requestId,
      wantsFragment: isHtmx(request),
      csrfField: csrfFieldOf(live),
    };
    const subjects = { restaurant: restaurant ?? '', client: params.client ?? '', viewer: user.id };
    const streamUrl =
      request.method === 'GET' && !isHtmx(request) ? await streamUrlOf(deps.watch, page, subjects) : undefined;
    await send.answer({ ...asked, streamUrl }, await page.handle(view));
  };
};

const maySee = (look: () => unknown): boolean => {
  try {
    look();
    return true;
  } catch {
    return false;
  }
};

const hasToken = (request: IncomingMessage, form: URLSearchParams, { csrfToken }: LiveSession): boolean => {
  const header = request.headers['x-csrf-token'];
  return isCsrfToken(typeof header === 'string' ? header : form.get('csrf'), csrfToken);
};

const csrfFieldOf = ({ csrfToken }: LiveSession) => html`<input type="hidden" name="csrf" value="${csrfToken}">`;

const createSend = ({ assets, flashes, pages, watch, streams, ports, headers }: RouterDeps) => {
  const sendPage = async (asked: Asked, content: PageContent): Promise<void> => {
    const { live, respond, language, texts, path, params } = asked;
    // A part that refreshes itself must not use up the message, which is for the next whole page.
    const flash = live?.hasMessage === true && !isHtmx(asked.request) ? await flashes.take(live.session.id) : undefined;
    const signedIn = live && {
      user: live.user,
      csrfToken: live.csrfToken,
      csrfField: csrfFieldOf(live),
      ...navigationFor(pages, { role: live.user.role, texts, path, params }),
      streamUrl: asked.streamUrl,
    };
    respond.html(
      layout({ assets, language, texts, path, flash, signedIn }, content),
      content.status ?? 200,
      content.cookies,
    );
  };
  const problem = (asked: Asked, name: Problem, more: { detail?: string; status?: number } = {}): Promise<void> =>
    sendPage(asked, problemPage(asked.texts, name, { requestId: asked.requestId, ...more }));
  const openStream = ({ request, response, query, live }: Asked): void => {
    if (live === undefined) throw new Error('a stream without a session');
    const token = readCookie(request, sessionCookie);
    streams.open(
      { request, response, headers },
      {
        userId: live.user.id,
        topics: readTopics(watch, query, live.user),
        // The stream ends when the user loses the session, the role or the restaurant.
        isLive: async () => {
          const current = await ports.staff.sessions.find(token, false);
          return current !== undefined && maySee(() => readTopics(watch, query, current.user));
        },
      },
    );
  };
  return {
    problem,
    answer: async (asked: Asked, answer: Answer): Promise<void> => {
      const { respond, live } = asked;
      switch (answer.kind) {
        case 'page':
          return sendPage(asked, answer);
        case 'fragment':
          return respond.html(answer.body, answer.status);
        case 'redirect':
          if (answer.flash !== undefined && live !== undefined) await flashes.keep(live.session.id, answer.flash);
          return respond.redirect(answer.to, answer.cookies);
        case 'file':
          return respond.file(answer.name, answer.type, answer.body);
        case 'events':
          return asked.request.method === 'GET' ? openStream(asked) : respond.html(html``, 200);
        case 'notFound':
          return problem(asked, 'notFound');
      }
    },
  };
};
