/** The checks before a page. panel-app.ts has their order. */

import { type Page, secondFactorPath } from '../page/page.ts';
import { panelPath } from '../page/page-path.ts';
import { ProblemError } from '../view/problem-page.ts';
import { isCsrfToken } from './csrf.ts';
import { readForm } from './read-form.ts';
import { isSameOrigin } from './same-origin.ts';
import { isHtmx, isRead, type Step, sessionOf } from './state.ts';
import { writeRedirect } from './write-response.ts';

/** `origin`: public origin of the server. */
export const requireSameOrigin = (origin: string): Step => {
  return (ctx, next) => {
    if (isRead(ctx) || isSameOrigin(ctx.req, origin)) return next();
    throw new ProblemError('expired', ctx.state.texts.frame.otherAddress(origin));
  };
};

/** Redirects a visitor without a session to the sign-in, which leads back to the page. */
export const requireSession: Step = (ctx, next) => {
  if (ctx.state.live !== undefined) return next();
  const { query } = ctx.state;
  const isPage = ctx.method === 'GET' && !isHtmx(ctx) && ctx.path !== panelPath;
  const asked = `${ctx.path}${query.size === 0 ? '' : `?${query}`}`;
  writeRedirect(ctx, `${panelPath}/sign-in${isPage ? `?next=${encodeURIComponent(asked)}` : ''}`);
};

/**
 * koa-router leaves a wrong escape as it is, and Koa cuts off a fragment, which no request target has (RFC 9112 section 3.2).
 * PostgreSQL cannot store U+0000.
 */
export const requireCleanPath: Step = (ctx, next) => {
  if (!ctx.url.includes('#') && decode(ctx.path)?.includes('\0') === false) return next();
  throw new ProblemError('notFound');
};

const decode = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
};

export const requireRole = ({ roles }: Pick<Page, 'roles'>): Step => {
  return (ctx, next) => {
    if (roles.includes(sessionOf(ctx).user.role)) return next();
    throw new ProblemError('forbidden');
  };
};

/** Leads a session that needs a second factor to the page that says how to add one. */
export const requireFactor = ({ secondFactor }: Pick<Page, 'secondFactor'>): Step => {
  return (ctx, next) => {
    const { needsFactor, user } = sessionOf(ctx);
    // An account with a passkey has a second factor: who knows the password only must not add another one.
    const opens = secondFactor === 'asks' || (secondFactor === 'adds' && !user.hasPasskey);
    if (!needsFactor || opens) return next();
    writeRedirect(ctx, secondFactorPath);
  };
};

/** Answers as for a restaurant that does not exist, so that the owner cannot find out whether there is one. */
export const requireOwnRestaurant: Step = (ctx, next) => {
  const { user } = sessionOf(ctx);
  const { restaurant } = ctx.state.params;
  if (restaurant === undefined || user.role !== 'owner' || user.restaurants.includes(restaurant)) return next();
  throw new ProblemError('notFound');
};

/** Answers as for a client that does not exist, so that a contact cannot find out whether there is one. */
export const requireOwnClient: Step = (ctx, next) => {
  const { user } = sessionOf(ctx);
  const { client } = ctx.state.params;
  if (client === undefined || user.role !== 'contact' || user.clients.includes(client)) return next();
  throw new ProblemError('notFound');
};

/** Throws a Fault beyond the bounds of a form. */
export const readPosted = ({ bodyBytesMax }: Pick<Page, 'bodyBytesMax'> = {}): Step => {
  return async (ctx, next) => {
    if (!isRead(ctx)) ctx.state.form = await readForm(ctx.req, bodyBytesMax);
    return next();
  };
};

/** The token is in the form, or in a header that the page's script sets. */
export const requireToken: Step = (ctx, next) => {
  const header = ctx.req.headers['x-csrf-token'];
  const given = typeof header === 'string' ? header : ctx.state.form.get('csrf');
  if (isRead(ctx) || isCsrfToken(given, sessionOf(ctx).csrfToken)) return next();
  throw new ProblemError('expired');
};
