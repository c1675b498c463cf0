/** The limits of one API key, the networks that it may be used from, and what it used. */
import { type Answer, notFound, page, redirect } from '../page/answer.ts';
import type { Page, View } from '../page/page.ts';
import type { Role } from '../ports/role.ts';
import {
  askAboutAddresses,
  askAboutLimits,
  checkAddresses,
  checkLimits,
  type LimitProblems,
  limitProblemsOf,
  limitsView,
  readAddressForm,
  readLimitsForm,
} from '../view/limits-view.ts';
import { pathOfRestaurant, restaurantPath, restaurantRoles } from './paths.ts';

/** An owner could raise limits, which protect the others; networks only narrow what a key may do. */
const limitRoles: readonly Role[] = ['support', 'admin'];

const limitsPath = `${restaurantPath}/keys/:key/limits`;

export const keyLimitPages: readonly Page[] = [
  { method: 'GET', path: limitsPath, roles: restaurantRoles, handle: (view) => show(view) },
  {
    method: 'POST',
    path: limitsPath,
    roles: limitRoles,
    handle: (view) =>
      save(view, askAboutLimits, (id, path) =>
        view.ports.limits.setLimits(view.actor, 'key', id, readLimitsForm(view.form), checkLimits(view, path)),
      ),
  },
  {
    method: 'POST',
    path: `${limitsPath}/addresses`,
    roles: restaurantRoles,
    handle: (view) =>
      save(view, askAboutAddresses, (id, path) =>
        view.ports.limits.setAllowIp(view.actor, 'key', id, readAddressForm(view.form), checkAddresses(view, path)),
      ),
  },
];

export const keyLimitsPath = (restuid: string, keyId: string): string =>
  pathOfRestaurant(restuid, `/keys/${encodeURIComponent(keyId)}/limits`);

/** The key of the path, when it is one of the restaurant. */
const findKey = ({ params, ports }: View) => ports.restaurant.keys.find(params.restaurant ?? '', params.key ?? '');

const show = async (view: View, problems: LimitProblems = {}): Promise<Answer> => {
  const key = await findKey(view);
  if (key === undefined) return notFound();
  const caller = await view.ports.limits.show('key', key.id);
  const path = keyLimitsPath(view.params.restaurant ?? '', key.id);
  return page({
    title: view.texts.limits.title(caller.name),
    status: Object.keys(problems).length === 0 ? 200 : 422,
    body: limitsView(view, { caller, path, problems, mayLimit: limitRoles.includes(view.user.role) }),
  });
};

/** `ask`: makes the page that asks first, where the change takes something away. */
const save = async (
  view: View,
  ask: typeof askAboutLimits,
  change: (id: string, path: string) => Promise<void>,
): Promise<Answer> => {
  const key = await findKey(view);
  if (key === undefined) return notFound();
  const path = keyLimitsPath(view.params.restaurant ?? '', key.id);
  try {
    const asked = ask(view, { caller: await view.ports.limits.show('key', key.id), path });
    if (asked !== undefined) return asked;
    await change(key.id, path);
  } catch (error) {
    const problems = limitProblemsOf(view, error);
    if (problems === undefined) throw error;
    return show(view, problems);
  }
  return redirect(path, { tone: 'good', text: view.texts.limits.saved });
};
