/** The query of a list, without the parts that are not given. @see docs/service.md "Filters" */
export function queryOf({
  page,
  only,
  include,
  filters,
}: Partial<Record<'only' | 'include', readonly string[] | undefined>> & {
  readonly page?: number | undefined;
  readonly filters?: object | undefined;
}): Record<string, string> {
  return {
    ...(page === undefined ? {} : {page: String(page)}),
    ...(only === undefined ? {} : {only: only.join(',')}),
    ...(include === undefined ? {} : {include: include.join(',')}),
    ...Object.fromEntries(Object.entries(filters ?? {}).filter(([, value]) => value !== undefined)),
  };
}
