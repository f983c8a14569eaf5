import type {Options} from 'minisearch';

/** A hit of the search: the text below one heading. */
export interface Passage {
  /** Its address in the site: `watching.html#alerts`. */
  readonly id: string;
  readonly title: string;
  /** Title of the page. */
  readonly page: string;
  readonly text: string;
}

/** How the index is made, and how it is read again: both sides must agree. */
export const searchOptions: Options<Passage> = {
  fields: ['title', 'page', 'text'],
  storeFields: ['title', 'page', 'text'],
  searchOptions: {
    boost: {title: 4, page: 2},
    prefix: true,
    combineWith: 'AND',
    // A slip of the finger in a long word; in a short one every word would be like another.
    fuzzy: (term) => (term.length > 5 ? 0.2 : false),
  },
};
