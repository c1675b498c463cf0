/** Turns the answers of pages into responses. */
import { Fault } from '#src/contract/fault.ts';
import { createTally } from '#src/platform/sharing/tally.ts';
import type { ChangeWatch } from '../live/change-watch.ts';
import type { EventStreams } from '../live/event-streams.ts';
import { readTopics } from '../live/page-topics.ts';
import type { Answer, PageContent } from '../page/answer.ts';
import { html } from '../page/html.ts';
import type { Page } from '../page/page.ts';
import type { PublicPage } from '../page/public-page.ts';
import type { Ports } from '../ports/ports.ts';
import { layout } from '../view/layout.ts';
import { navigationFor } from '../view/navigation.ts';
import { ProblemError } from '../view/problem-page.ts';
import type { Assets } from './assets.ts';
import { sessionCookie } from './cookies.ts';
import { csrfFieldOf } from './csrf.ts';
import type { Flashes } from './flashes.ts';
import { readCrumbs } from './read-crumbs.ts';
import { createShownAddress } from './shown-address.ts';
import { isHtmx, type PanelContext, sessionOf } from './state.ts';
import { writeFile, writeHtml, writeRedirect } from './write-response.ts';

export type AnswerDeps = {
  /** All pages, for the navigation. */
  pages: readonly Page[];
  publicPages: readonly PublicPage[];
  assets: Assets;
  flashes: Flashes;
  watch: ChangeWatch;
  streams: EventStreams;
  ports: Ports;
};

/** Downloads of a user at a time. Each has some megabytes in memory, and a connection to the store while it reads. */
const downloadsMax = 4;

export type WriteAnswer = ReturnType<typeof createWriteAnswer>;

export const createWriteAnswer = ({ assets, flashes, pages, publicPages, watch, streams, ports }: AnswerDeps) => {
  const shownAddress = createShownAddress([...pages, ...publicPages]);
  const writePage = async (ctx: PanelContext, content: PageContent): Promise<void> => {
    const { path } = ctx;
    const { live, language, texts, params, streamUrl } = ctx.state;
    // A part that refreshes itself must not use up the message, which is for the next whole page, and HEAD shows none.
    const isWhole = ctx.method !== 'HEAD' && !isHtmx(ctx);
    const flash = live?.hasMessage === true && isWhole ? await flashes.take(live.session.id) : undefined;
    const signedIn = live && {
      user: live.user,
      csrfToken: live.csrfToken,
      csrfField: csrfFieldOf(live),
      ...navigationFor(pages, { role: live.user.role, texts, path, params }),
      // A page of a problem tells nothing about the restaurant of its address, and a part of a page has no breadcrumb.
      crumbs:
        isShown(content) && !isHtmx(ctx)
          ? await readCrumbs({ pages, ports }, { user: live.user, texts, path, params })
          : undefined,
      streamUrl,
    };
    const address = content.address ?? shownAddress(ctx);
    const whole = layout({ assets, language, texts, path, address, flash, signedIn }, content);
    writeHtml(ctx, whole, content.status ?? 200, content.cookies);
  };
  const openStream = (ctx: PanelContext): void => {
    const { user } = sessionOf(ctx);
    const { query } = ctx.state;
    const token = ctx.cookies.get(sessionCookie);
    streams.open(ctx.req, ctx.res, {
      userId: user.id,
      topics: readTopics(watch, query, user),
      // The stream ends when the user loses the session, the role or the restaurant, and when a second factor becomes required.
      isLive: async () => {
        const current = await ports.staff.sessions.find(token, false);
        return current?.needsFactor === false && maySee(() => readTopics(watch, query, current.user));
      },
    });
    // From here the stream writes to the response.
    ctx.respond = false;
  };
  /** A download ends when the user loses the session or the role, and when a second factor becomes required. It counts as use. */
  const mayDownload = async (ctx: PanelContext): Promise<boolean> => {
    const { role } = sessionOf(ctx).user;
    const current = await ports.staff.sessions.find(ctx.cookies.get(sessionCookie), true);
    return current?.needsFactor === false && current.user.role === role;
  };
  const downloads = createTally();
  const writeDownload = async (ctx: PanelContext, answer: Extract<Answer, { kind: 'file' }>): Promise<void> => {
    const { id } = sessionOf(ctx).user;
    if (downloads.of(id) >= downloadsMax)
      throw new Fault('RATE_LIMIT_EXCEEDED', 'Too many of your downloads run: wait until one has ended, or end one');
    downloads.add(id);
    await writeFile(ctx, answer, () => mayDownload(ctx)).finally(() => downloads.drop(id));
  };
  const writeAnswer = async (ctx: PanelContext, answer: Answer): Promise<void> => {
    const { live } = ctx.state;
    switch (answer.kind) {
      case 'page':
        return writePage(ctx, answer);
      case 'fragment':
        return writeHtml(ctx, answer.body, answer.status);
      case 'redirect':
        if (answer.flash !== undefined && live !== undefined) await flashes.keep(live.session.id, answer.flash);
        return writeRedirect(ctx, answer.to, answer.cookies);
      case 'file':
        return writeDownload(ctx, answer);
      case 'events':
        return ctx.method === 'GET' ? openStream(ctx) : writeHtml(ctx, html``, 200);
      case 'notFound':
        throw new ProblemError('notFound');
    }
  };
  return { writePage, writeAnswer };
};

/** A page, or a form with errors. */
const isShown = ({ status = 200 }: PageContent): boolean => status === 200 || status === 422;

const maySee = (look: () => unknown): boolean => {
  try {
    look();
    return true;
  } catch {
    return false;
  }
};
