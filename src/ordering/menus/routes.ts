/** Operations on the menu (interface 11.3). */
import { z } from 'zod';
import { Fault } from '#src/contract/fault.ts';
import { type Operation, operation } from '#src/platform/http/operation.ts';
import { type Cursors, pageAnswer, pageParams } from '#src/platform/http/paging.ts';
import { flag, optional, text, uid, withDefault } from '#src/platform/http/values.ts';
import { byPage } from './by-page.ts';
import { type ImportDeps, importOperations } from './import-routes.ts';
import { findCategory, listCategories, listProducts, loadProductsOnSale } from './menu-store.ts';
import { categoryAnswer, categoryView, productAnswer, productView } from './menu-view.ts';

const listParams = { ...pageParams, visible: withDefault(flag(), true), q: optional(text({ max: 100 })) };

const categoryGone = (): Fault => new Fault('CATEGORY_NOT_FOUND', 'No such category');

export const menuOperations = (deps: ImportDeps): Operation[] => [
  listCategoriesOperation(deps.cursors),
  getCategory,
  listProductsOperation(deps.cursors),
  getProduct,
  ...importOperations(deps),
];

const listCategoriesOperation = (cursors: Cursors): Operation =>
  operation({
    method: 'GET',
    path: '/menu/categories',
    summary: 'Categories of the menu',
    params: z.object(listParams),
    answer: z.object({ categories: z.array(categoryAnswer), ...pageAnswer }),
    handle: async ({ db, restuid, params }) => {
      const { page, members } = byPage(cursors, params);
      const listed = await listCategories(db, restuid, { visibleOnly: params.visible, part: params.q }, page);
      return { body: { categories: listed.items.map(categoryView), ...members(listed) } };
    },
  });

const getCategory = operation({
  method: 'GET',
  path: '/menu/category',
  summary: 'One category, hidden ones too',
  params: z.object({ uid: uid() }),
  answer: z.object({ category: categoryAnswer }),
  handle: async ({ db, restuid, params }) => {
    const category = await findCategory(db, restuid, params.uid);
    if (category === undefined) throw categoryGone();
    return { body: { category: categoryView(category) } };
  },
});

const listProductsOperation = (cursors: Cursors): Operation =>
  operation({
    method: 'GET',
    path: '/menu/products',
    summary: 'Products of the menu or of one category',
    params: z.object({ ...listParams, catuid: optional(uid()) }),
    answer: z.object({ products: z.array(productAnswer), ...pageAnswer }),
    handle: async ({ db, restuid, params }) => {
      if (params.catuid !== undefined && (await findCategory(db, restuid, params.catuid)) === undefined)
        throw categoryGone();
      const { page, members } = byPage(cursors, params);
      const filter = { visibleOnly: params.visible, part: params.q, categoryUid: params.catuid };
      const listed = await listProducts(db, restuid, filter, page);
      return { body: { products: listed.items.map(productView), ...members(listed) } };
    },
  });

const getProduct = operation({
  method: 'GET',
  path: '/menu/product',
  summary: 'One product with all options that apply, hidden ones too',
  params: z.object({ uid: uid() }),
  answer: z.object({ product: productAnswer }),
  handle: async ({ db, restuid, params }) => {
    const product = (await loadProductsOnSale(db, restuid, [params.uid])).get(params.uid);
    if (product === undefined) throw new Fault('PRODUCT_NOT_FOUND', 'No such product');
    return { body: { product: productView(product) } };
  },
});
