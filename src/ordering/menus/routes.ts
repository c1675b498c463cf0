/** Operations on the menu (interface 11.3). */
import { z } from 'zod';
import { Fault } from '#src/contract/fault.ts';
import type { Key } from '#src/platform/db/bounded-list.ts';
import { type Operation, operation } from '#src/platform/http/operation.ts';
import { type Cursors, cursorParams, pageAnswer } from '#src/platform/http/paging.ts';
import { flag, optional, text, uid, withDefault } from '#src/platform/http/values.ts';
import { mapPaced } from '#src/platform/pace.ts';
import { type ImportDeps, importOperations } from './import/routes.ts';
import { listCategories, listProducts } from './menu/menu-list-store.ts';
import { categoryAnswer, productAnswer } from './menu/menu-schema.ts';
import { findCategory, loadProductsOnSale } from './menu/menu-store.ts';
import { categoryView, productView } from './menu/menu-view.ts';

const listParams = {
  ...cursorParams,
  visible: withDefault(flag(), true).describe('1: only what is not hidden; 0: hidden ones too'),
  q: optional(text({ max: 100 })).describe('Part of the name, compared without case; when absent, names do not matter'),
};

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
    errors: [],
    params: z.object(listParams),
    answer: z.object({
      categories: z.array(categoryAnswer).describe('Sorted by position, then by uid'),
      ...pageAnswer,
    }),
    hasLargeItems: true,
    handle: async ({ db, restuid, params }) => {
      const { visible, q } = params;
      const scope = { list: 'categories', restuid, visible, q };
      const query = cursors.read<Key>(params, scope);
      const listed = await listCategories(db, restuid, { visibleOnly: visible, part: q }, query);
      return {
        body: { categories: await mapPaced(listed.rows, categoryView), ...cursors.answer(query, scope, listed) },
      };
    },
  });

const getCategory = operation({
  method: 'GET',
  path: '/menu/category',
  summary: 'One category, hidden ones too',
  errors: ['CATEGORY_NOT_FOUND'],
  params: z.object({ uid: uid().describe('The category; a hidden one is found too') }),
  answer: z.object({ category: categoryAnswer.describe('The category with its own options') }),
  hasLargeItems: true,
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
    errors: ['CATEGORY_NOT_FOUND'],
    params: z.object({
      ...listParams,
      visible: listParams.visible.describe('1: no hidden products, and none of hidden categories; 0: these too'),
      catuid: optional(uid()).describe('Only products of this category; when absent, those of all categories'),
    }),
    answer: z.object({
      products: z.array(productAnswer).describe('Sorted by the position of the category, then by their own'),
      ...pageAnswer,
    }),
    hasLargeItems: true,
    handle: async ({ db, restuid, params }) => {
      if (params.catuid !== undefined && (await findCategory(db, restuid, params.catuid)) === undefined)
        throw categoryGone();
      const { visible, q, catuid } = params;
      const scope = { list: 'products', restuid, visible, q, catuid };
      const query = cursors.read<Key>(params, scope);
      const filter = { visibleOnly: visible, part: q, categoryUid: catuid };
      const listed = await listProducts(db, restuid, filter, query);
      return { body: { products: await mapPaced(listed.rows, productView), ...cursors.answer(query, scope, listed) } };
    },
  });

const getProduct = operation({
  method: 'GET',
  path: '/menu/product',
  summary: 'One product with all options that apply, hidden ones too',
  errors: ['PRODUCT_NOT_FOUND'],
  params: z.object({ uid: uid().describe('The product; a hidden one is found too') }),
  answer: z.object({ product: productAnswer.describe('The product with all options that apply') }),
  hasLargeItems: true,
  handle: async ({ db, restuid, params }) => {
    const product = (await loadProductsOnSale(db, restuid, [params.uid])).get(params.uid);
    if (product === undefined) throw new Fault('PRODUCT_NOT_FOUND', 'No such product');
    return { body: { product: productView(product) } };
  },
});
