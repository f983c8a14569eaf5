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
COPY bin bin
COPY licences licences
COPY migrations migrations
COPY docs docs
RUN mkdir .fieldmirror && chown node:node .fieldmirror
USER node
# For people and scripts inside: docker compose exec fieldmirror fieldmirror status.
ENV PATH=/app/bin:$PATH
# What is kept: the embedded Postgres where DATABASE_URL is not set, and the files that init writes.
ENV FIELDMIRROR_HOME=/app/.fieldmirror
WORKDIR /app/.fieldmirror
VOLUME /app/.fieldmirror
EXPOSE 8086
HEALTHCHECK --start-period=2m CMD ["node", "-e", "fetch('http://127.0.0.1:8086/readyz').then(({ok}) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/main.js"]
CMD ["start", "--host", "0.0.0.0"]
