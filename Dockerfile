FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm install
COPY esbuild.config.ts ./
COPY src src
COPY jobs jobs
RUN npm run -s build
# The image has a Node of its own.
RUN npm prune --omit=dev && rm -r node_modules/node-linux-*

FROM node:24-bookworm-slim
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json LICENSE ./
COPY licences licences
COPY migrations migrations
# The embedded Postgres writes here when DATABASE_URL is not set.
RUN mkdir .fieldmirror && chown node:node .fieldmirror
USER node
ENTRYPOINT ["node", "--max-semi-space-size=4", "--initial-heap-size=36", "--heap-growing-percent=50", "dist/main.js"]
EXPOSE 8086
CMD ["start", "--host", "0.0.0.0"]
