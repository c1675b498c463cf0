/** Routes of koa-router, made from a list of pages. */
import Router from 'koa-router';
import { panelPath } from '../page/page-path.ts';
import type { PanelState, Step } from './state.ts';

type Routed = { method: 'GET' | 'POST'; path: string };

/**
 * Runs the steps of the page that matches method and path. HEAD matches the GET page. The page with more literal segments wins
 * over one with parameters; without a match the next step of the application runs. The decoded parameters are in
 * `ctx.state.params`. Throws when two pages have the same path.
 */
export const createRoutes = <T extends Routed>(pages: readonly T[], stepsOf: (page: T) => readonly Step[]): Step => {
  const shapes = pages.map(({ method, path }) => `${method} ${path.replaceAll(/:[^/]+/g, ':')}`);
  const twice = shapes.find((shape, index) => shapes.indexOf(shape) !== index);
  if (twice !== undefined) throw new Error(`two pages of the panel answer ${twice}`);
  const router = new Router<PanelState>({ strict: true, sensitive: true });
  // The first matching route answers.
  for (const page of pages.toSorted((left, right) => parametersOf(left) - parametersOf(right))) {
    const steps: Router.IMiddleware<PanelState>[] = [keepParams, ...stepsOf(page)];
    if (page.method === 'GET') router.get(panelPath + page.path, ...steps);
    else router.post(panelPath + page.path, ...steps);
  }
  return router.routes() as Step;
};

/** Pages that match the same path have equally many segments. */
const parametersOf = ({ path }: Routed): number => path.split('/:').length;

const keepParams: Router.IMiddleware<PanelState> = (ctx, next) => {
  ctx.state.params = ctx.params;
  return next();
};
