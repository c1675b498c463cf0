/** Staff restore the elements of a client as they were after one of its imports. */
import { Fault } from '#src/contract/fault.ts';
import { type Answer, notFound, redirect } from '../page/answer.ts';
import { html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { requestedRestaurant, restaurantRoles } from '../restaurant/paths.ts';
import { confirmPage } from '../view/confirm-page.ts';
import { time } from '../view/time.ts';
import { importPath } from './menu-import-page.ts';
import { importAuthor } from './menu-parts.ts';
import { pathOfImport } from './paths.ts';

const ask = async (view: View): Promise<Answer> => {
  const found = await requestedRestaurant(view);
  if (found === undefined) return notFound();
  const { restuid, name } = found;
  const { menu, ordering } = view.ports;
  const uid = view.params.import ?? '';
  const target = await menu.import(restuid, uid);
  if (target === undefined) return notFound();
  const t = view.texts.menu;
  const back = pathOfImport(restuid, uid);
  if (!(await menu.canRevertTo(restuid, uid))) return redirect(back, { tone: 'bad', text: t.cannotRevert });
  const { version } = await menu.terms(restuid);
  // The elements belong to the client, also where a user restored them.
  const owner = await importAuthor(view, { ...target, actor: null }, (actor) => ordering.nameOf(restuid, actor));
  return confirmPage(view, {
    title: t.revertTitle(name),
    body: html`<p>${t.revertTo} ${time(target.applied)}.</p><p>${t.revertText(owner)}</p>`,
    action: `${back}/revert`,
    fields: [['version', String(version)]],
    submit: t.revertNow,
    back,
  });
};

const revert = async (view: View): Promise<Answer> => {
  const { restaurant: restuid = '', import: uid = '' } = view.params;
  const t = view.texts.menu;
  const back = pathOfImport(restuid, uid);
  const given = view.form.get('version') ?? '';
  // Only the form of the question has the version that the user saw.
  if (!/^\d{1,15}$/.test(given)) return redirect(`${back}/revert`);
  try {
    const made = await view.ports.menu.revert(view.actor, restuid, uid, Number(given));
    return redirect(pathOfImport(restuid, made), { tone: 'good', text: t.reverted });
  } catch (error) {
    if (!(error instanceof Fault) || (error.code !== 'CONFLICT' && error.code !== 'NOT_FOUND')) throw error;
    if (error.code === 'CONFLICT') return redirect(`${back}/revert`, { tone: 'bad', text: t.menuChanged });
    const exists = (await view.ports.menu.import(restuid, uid)) !== undefined;
    return exists ? redirect(back, { tone: 'bad', text: t.cannotRevert }) : notFound();
  }
};

export const menuRevertPages: readonly Page[] = [
  { method: 'GET', path: `${importPath}/revert`, roles: restaurantRoles, handle: ask },
  { method: 'POST', path: `${importPath}/revert`, roles: restaurantRoles, handle: revert },
];
