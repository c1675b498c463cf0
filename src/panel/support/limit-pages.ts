/** The limits of one client, the networks that it may be used from, and what it used. */
import { type Answer, page, redirect } from '../page/answer.ts';
import type { Page, View } from '../page/page.ts';
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
import { clientPath } from './client-table.ts';
import { supportRoles } from './roles.ts';
import { credentialsTopic } from './topics.ts';

export const limitPages: readonly Page[] = [
  {
    method: 'GET',
    path: '/clients/:client/limits',
    roles: supportRoles,
    nav: (texts) => texts.limits.nav,
    topics: [credentialsTopic],
    handle: (view) => show(view),
  },
  {
    method: 'POST',
    path: '/clients/:client/limits',
    roles: supportRoles,
    handle: (view) =>
      save(view, askAboutLimits, (id) =>
        view.ports.limits.setLimits(view.actor, 'client', id, readLimitsForm(view.form), checkLimits(view, pathOf(id))),
      ),
  },
  {
    method: 'POST',
    path: '/clients/:client/limits/addresses',
    roles: supportRoles,
    handle: (view) =>
      save(view, askAboutAddresses, (id) =>
        view.ports.limits.setAllowIp(
          view.actor,
          'client',
          id,
          readAddressForm(view.form),
          checkAddresses(view, pathOf(id)),
        ),
      ),
  },
];

const pathOf = (clientId: string): string => `${clientPath(clientId)}/limits`;

const show = async (view: View, problems: LimitProblems = {}): Promise<Answer> => {
  const id = view.params.client ?? '';
  const caller = await view.ports.limits.show('client', id);
  return page({
    title: view.texts.limits.title(caller.name),
    status: Object.keys(problems).length === 0 ? 200 : 422,
    body: limitsView(view, { caller, path: pathOf(id), problems, mayLimit: true }),
  });
};

/** `ask`: makes the page that asks first, where the change takes something away. */
const save = async (view: View, ask: typeof askAboutLimits, change: (id: string) => Promise<void>): Promise<Answer> => {
  const id = view.params.client ?? '';
  try {
    const asked = ask(view, { caller: await view.ports.limits.show('client', id), path: pathOf(id) });
    if (asked !== undefined) return asked;
    await change(id);
  } catch (error) {
    const problems = limitProblemsOf(view, error);
    if (problems === undefined) throw error;
    return show(view, problems);
  }
  return redirect(pathOf(id), { tone: 'good', text: view.texts.limits.saved });
};
